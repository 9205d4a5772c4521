"""The tool that runs shell commands. How it ends with an aborted run is in tests/bugs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import refold
from refold import Options, ToolExecutionUpdate, ToolResultMessage
from refold.actors.builtin import shell as module
from tests.support.looking import in_time, tool_results
from tests.support.models import MODEL, Model, call, calls


class Ran:
    """What came of a command."""

    def __init__(self, command: str, shell: refold.Tool | None = None, **arguments: Any) -> None:
        model = Model(calls(call("shell", command=command, **arguments)), "done")
        with refold.open(None, providers=[model], options=Options(output_limit=1000)) as runtime:
            session = runtime.session("s", model=MODEL, tools=[shell or refold.shell()])
            events = in_time(lambda: list(session.prompt("go")))
            self.result: ToolResultMessage = tool_results(session.state.messages)[0]
            self.whole = runtime.log.blob(self.result.whole) if self.result.whole else b""
        self.text = self.result.text
        self.failed = self.result.is_error
        self.reports = [e.partial_result.text for e in events if isinstance(e, ToolExecutionUpdate)]


def test_output_and_errors_come_as_they_were_printed() -> None:
    ran = Ran("echo one; echo two >&2; echo three")
    assert (ran.text, ran.failed) == ("one\ntwo\nthree\n", False)


def test_a_command_that_says_nothing_says_so() -> None:
    assert Ran("true").text == "(no output)"


def test_a_command_gets_no_input() -> None:
    assert Ran("cat; echo end").text == "end\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo half; exit 3", "half\n\n[exit code 3]"),
        ("exit 3", "[exit code 3]"),
        ("kill -9 $$", "[killed by SIGKILL]"),
    ],
)
def test_a_command_that_fails_is_an_error_with_its_output(command: str, told: str) -> None:
    ran = Ran(command)
    assert (ran.text, ran.failed) == (told, True)


def test_a_program_that_is_not_there_is_an_error_that_names_it() -> None:
    ran = Ran("no-such-program")
    assert ran.failed
    assert "no-such-program" in ran.text
    assert "[exit code 127]" in ran.text


def test_it_runs_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    shell = refold.shell(cwd=tmp_path, env={"WORD": "yes", "PATH": "/usr/bin:/bin"})
    assert Ran("pwd; echo $WORD", shell).text == f"{tmp_path}\nyes\n"


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    ran = Ran("pwd", refold.shell(cwd=tmp_path / "gone"))
    assert ran.failed
    assert "gone" in ran.text


def test_output_is_reported_while_the_command_runs(tmp_path: Path) -> None:
    """The command ends only once its first words have been seen."""
    command = f"echo begun; while [ ! -e {tmp_path}/seen ]; do sleep 0.01; done; echo over"
    model = Model(calls(call("shell", command=command)), "done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[refold.shell()])
        run = session.prompt("go")

        def follow() -> None:
            for event in run:
                if isinstance(event, ToolExecutionUpdate):
                    (tmp_path / "seen").touch()

        in_time(follow)
        assert tool_results(session.state.messages)[0].text == "begun\nover\n"


def test_reports_are_short_however_much_is_printed() -> None:
    ran = Ran("for i in 1 2 3; do head -c 20000 /dev/zero | tr '\\0' x; sleep 0.15; done")
    assert ran.reports
    assert all(len(report) <= module.REPORT_SIZE for report in ran.reports)


def test_a_long_output_is_cut_for_the_model_and_whole_in_the_log() -> None:
    ran = Ran("head -c 5000 /dev/zero | tr '\\0' x")
    assert "4000 characters of 5000 are left out" in ran.text
    assert ran.whole == b"x" * 5000


def test_a_character_that_comes_in_two_parts_is_one() -> None:
    ran = Ran("printf '\\303'; sleep 0.15; printf '\\244'")
    assert ran.text == "ä"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert Ran("printf 'a\\377b\\000c'").text == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("by", ["the model", "the program"])
def test_a_command_is_ended_when_its_time_is_over(by: str) -> None:
    if by == "the model":
        ran = Ran("echo begun; sleep 60", timeout=0.2)
    else:
        ran = Ran("echo begun; sleep 60", refold.shell(timeout=0.2))
    assert (ran.text, ran.failed) == ("begun\n\n[ended: it took over 0.2 s]", True)


def test_a_command_that_will_not_end_is_killed() -> None:
    ran = Ran("trap '' TERM; while :; do sleep 0.1; done", refold.shell(timeout=0.1, grace=0.1))
    assert (ran.text, ran.failed) == ("[ended: it took over 0.1 s]", True)


def test_a_command_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OUTPUT", 2**20)
    ran = Ran("yes")
    assert ran.failed
    assert "it printed over 1 MiB" in ran.text


def test_what_a_command_leaves_running_does_not_hold_it_up(tmp_path: Path) -> None:
    began = time.monotonic()
    ran = Ran(f"sleep 60 & echo $! > {tmp_path}/pid; echo started")
    assert ran.text == "started\n"
    assert time.monotonic() - began < 10
    pid = (tmp_path / "pid").read_text().strip()
    assert Ran(f"kill {pid}").failed is False  # it was still there


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    ran = Ran(f"exec >&- 2>&-; sleep 0.2; touch {tmp_path}/done")
    assert (tmp_path / "done").exists()
    assert ran.text == "(no output)"


def test_many_commands_run_at_once(tmp_path: Path) -> None:
    """Each waits for all: that takes as many processes at once, and no thread for any."""
    count = 40
    waiting = f"touch {tmp_path}/$N; while [ $(ls {tmp_path} | wc -l) -lt {count} ]; do :; done"
    blocks = [
        call("shell", f"c{n}", command=f"N={n}; {waiting.replace(':;', 'sleep 0.05;')}")
        for n in range(count)
    ]
    model = Model(calls(*blocks), "done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[refold.shell()])
        assert in_time(session.prompt("go").result, limit=60).text == "done"
        assert not any(each.is_error for each in tool_results(session.state.messages))
