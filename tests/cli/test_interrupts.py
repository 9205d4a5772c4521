"""Ctrl-C, and readers that go away, in the middle of an answer."""

from __future__ import annotations

from tests.cli.conftest import TOOLS
from tests.cli.refold import Refold, interrupt, read_until

# It would take minutes: whoever sees its end did not abort it.
ENDLESS = {"content": "la " * 3000, "chunks": 3, "delay": 0.1}


def test_ctrl_c_aborts_the_run_and_the_log_says_so(refold: Refold) -> None:
    refold.write("song.json", [ENDLESS])
    with refold.started("run", "Sing", "--session", "song", "--script", "song.json") as process:
        read_until(process.stdout, b"la la")
        interrupt(process)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.decode().splitlines()[0] == "aborting (Ctrl-C again leaves at once)"
    assert len(err.decode().splitlines()) == 2  # and what is always said at the end
    types = [event["type"] for event in refold.events("song")]
    assert types.count("abort_requested") == 1
    assert types[-1] == "settled"
    [*_, last] = refold.json("at", "song", "end")["messages"]
    assert last["stop_reason"] == "aborted"
    assert last["content"][0]["text"].startswith("la la")


def test_after_ctrl_c_the_session_takes_the_next_prompt(refold: Refold) -> None:
    refold.write("song.json", [ENDLESS])
    refold.write("hello.json", ["Hello."])
    with refold.started("run", "Sing", "--session", "song", "--script", "song.json") as process:
        read_until(process.stdout, b"la la")
        interrupt(process)
        process.communicate(timeout=30)
    assert refold.ok("run", "Hi", "--session", "song", "--script", "hello.json") == "Hello.\n"


def test_a_second_ctrl_c_leaves_at_once(refold: Refold) -> None:
    refold.write("song.json", [{**ENDLESS, "ignores_abort": True}])
    with refold.started("run", "Sing", "--session", "song", "--script", "song.json") as process:
        read_until(process.stdout, b"la la")
        interrupt(process)
        read_until(process.stderr, b"aborting")
        interrupt(process)
        assert process.wait(timeout=30) == 130
    assert refold.ok("sessions").splitlines()[1].startswith("* song")


def test_ctrl_c_while_a_tool_runs_ends_the_run(refold: Refold) -> None:
    refold.write(
        "tools.py",
        TOOLS
        + """
@refold.tool
def sit(context: refold.ToolContext) -> str:
    "Wait for the abort."
    context.update("sitting").__await__
    context.signal.wait(60)
    return "up again"
""",
    )
    refold.write("s.json", [{"content": [{"type": "tool_call", "name": "sit"}]}, "Never said."])
    words = ("run", "Sit", "--session", "s", "--script", "s.json", "--tool", "tools.py:sit")
    with refold.started(*words) as process:
        read_until(process.stderr, b"sitting")
        interrupt(process)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert "abort_requested" in [event["type"] for event in refold.events("s")]


def test_a_run_whose_reader_goes_away_is_aborted(refold: Refold) -> None:
    refold.write("song.json", [ENDLESS])
    with refold.started("run", "Sing", "--session", "song", "--script", "song.json") as process:
        read_until(process.stdout, b"la la")
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""
    types = [event["type"] for event in refold.events("song")]
    assert "abort_requested" in types
    assert types[-1] == "settled"


def test_looking_commands_end_quietly_when_nobody_reads(refold: Refold) -> None:
    refold.write("song.json", [{"content": "la " * 300, "chunks": 3}])
    refold.ok("run", "Sing", "--session", "song", "--script", "song.json")
    for words in (("log", "song"), ("at", "song", "end"), ("context", "song"), ("sessions",)):
        for form in ((), ("--json",)):
            with refold.started(*words, *form) as process:
                assert process.stdout is not None
                process.stdout.close()  # long before Python has started
                assert process.wait(timeout=30) == 141, words
                assert process.stderr is not None
                assert process.stderr.read() == b""
