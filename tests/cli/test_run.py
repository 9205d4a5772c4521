"""`refold run`."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import SUMS, TOOLS
from tests.cli.refold import Refold, one_error, read_until

SLOW = {"content": "one two three four five six seven eight nine", "chunks": 4, "delay": 0.2}


def test_the_answer_goes_to_stdout_and_all_else_to_stderr(refold: Refold) -> None:
    refold.write("tools.py", TOOLS)
    refold.write("sums.json", SUMS)
    done = refold("run", "What is 2 + 3?", "--script", "sums.json", "--tool", "tools.py:add")
    assert done.code == 0
    assert done.out == "I add them.\nIt is five.\n"
    *notes, last = done.err.splitlines()
    assert notes == ["Two and three.", '→ add {"a":2,"b":3}', "✓ add: 5"]
    assert re.fullmatch(r"run-1: run 1, events 4 to \d+, 31 tokens", last)


def test_thinking_without_an_answer_is_shown_once(refold: Refold) -> None:
    refold.write("hm.json", [{"content": [{"type": "thinking", "thinking": "Hm."}]}])
    done = refold("run", "Hi", "--script", "hm.json")
    assert done.out == ""
    assert done.err.splitlines()[:-1] == ["Hm."]


def test_on_a_terminal_all_but_the_answer_is_toned_down(refold: Refold) -> None:
    refold.write("tools.py", TOOLS)
    refold.write("sums.json", SUMS)
    words = ("run", "2 + 3?", "--script", "sums.json", "--tool", "tools.py:add")
    shown = refold.on_terminal(*words)
    assert "\x1b[2mTwo and three.\x1b[0m\nI add them.\n" in shown
    assert '\x1b[36m→ add {"a":2,"b":3}\x1b[0m\n\x1b[2m✓ add: 5\x1b[0m\nIt is five.\n' in shown


def test_quiet_leaves_out_all_notes(refold: Refold) -> None:
    refold.write("tools.py", TOOLS)
    refold.write("sums.json", SUMS)
    done = refold("run", "2 + 3?", "-q", "--script", "sums.json", "--tool", "tools.py")
    assert (done.code, done.out, done.err) == (0, "I add them.\nIt is five.\n", "")


def test_each_prompt_without_a_session_begins_one(refold: Refold) -> None:
    refold.write("hello.json", ["Hello."])
    for _ in range(2):
        refold.ok("run", "Hi", "--script", "hello.json")
    names = [session["name"] for session in refold.json("sessions")["sessions"]]
    assert names == ["run-1", "run-2"]


def test_a_named_session_goes_on(refold: Refold) -> None:
    refold.write("first.json", ["First."])
    refold.write("second.json", ["Second."])
    refold.ok("run", "One", "--session", "talk", "--script", "first.json")
    refold.ok("run", "Two", "--session", "talk", "--script", "second.json")
    said = [message["content"][0]["text"] for message in refold.json("context", "talk")["messages"]]
    assert said == ["One", "First.", "Two"]


def test_the_prompt_may_come_from_stdin(refold: Refold) -> None:
    refold.write("hello.json", ["Hello."])
    refold.ok("run", "-", "--script", "hello.json", stdin="from the\npipe\n")
    [message] = refold.json("context", "run-1")["messages"]
    assert message["content"][0]["text"] == "from the\npipe"


def test_settings_are_taken_from_options_files_and_environment(refold: Refold) -> None:
    refold.write("hello.json", ["Hello."])
    refold.write("system.txt", "Be kind.\n")
    refold.ok(
        *("run", "Hi", "--script", "hello.json", "--system", "@system.txt", "--thinking", "low"),
        *("--model", "scripted/m1"),
        env={"REFOLD_LOG": "other.refold"},
    )
    context = refold.json("context", "run-1", "--log", "other.refold")
    assert context["system_prompt"] == "Be kind."
    assert context["model"] == "scripted/m1"
    assert context["thinking_level"] == "low"


def test_a_session_keeps_its_model_against_the_environment(refold: Refold) -> None:
    refold.write("hello.json", ["Hello."])
    refold.ok("run", "Hi", "--session", "talk", "--script", "hello.json")
    done = refold("run", "Again", "--session", "talk", env={"REFOLD_MODEL": "local"})
    assert done.code == 1
    assert "'scripted'" in done.err


def test_an_error_of_the_model_is_the_exit_code(refold: Refold) -> None:
    refold.write("bad.json", [{"content": "Well", "error_message": "it is\nbroken"}])
    done = refold("run", "Hi", "--script", "bad.json")
    assert (done.code, done.out) == (1, "Well\n")
    assert done.err.splitlines()[-1] == "refold: it is broken"


def test_a_call_that_is_made_again_says_so(refold: Refold) -> None:
    busy = {"content": "Well", "error_kind": "overloaded", "error_message": "come back later"}
    refold.write("busy.json", [busy, "Hello."])
    done = refold("run", "Hi", "--script", "busy.json")
    assert (done.code, done.out) == (0, "Well\nHello.\n")
    assert done.err.startswith("come back later (trying again in 0.5 s)\n")


def test_calls_are_made_again_as_often_as_is_said(refold: Refold) -> None:
    busy = {"error_kind": "overloaded", "error_message": "come back later"}
    refold.write("busy.json", [busy, "Hello."])
    done = refold("run", "Hi", "--script", "busy.json", "--retries", "0", "-q")
    assert (done.code, done.out, done.err) == (1, "", "refold: come back later\n")


def test_an_answer_that_is_cut_off_says_so(refold: Refold) -> None:
    refold.write("long.json", [{"content": "Once upon", "stop_reason": "length"}])
    done = refold("run", "Tell", "--script", "long.json")
    assert done.code == 0
    assert "cut off" in done.err


def test_a_reply_that_does_not_stream_is_shown_whole(refold: Refold) -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "At once."}]
    refold.write("whole.json", [{"content": content, "streamed": False}])
    done = refold("run", "Hi", "--script", "whole.json")
    assert done.out == "At once.\n"
    assert done.err.startswith("Hm.\n")


def test_a_failing_tool_is_shown_and_told(refold: Refold) -> None:
    refold.write("tools.py", TOOLS)
    refold.write("s.json", [{"content": [{"type": "tool_call", "name": "fail"}]}, "I see."])
    done = refold("run", "Try", "--script", "s.json", "--tool", "tools.py:fail")
    assert done.code == 0
    assert "✗ fail: it cannot be done\n" in done.err


def test_a_plain_function_becomes_a_tool(refold: Refold) -> None:
    refold.write("tools.py", TOOLS)
    call = {"type": "tool_call", "name": "plain", "arguments": {"text": "abc"}}
    refold.write("s.json", [{"content": [call]}, "Done."])
    done = refold("run", "Try", "--script", "s.json", "--tool", "tools.py:plain")
    assert "✓ plain: abc\n" in done.err


def test_tools_that_are_not_given_again_are_gone(sums: Refold) -> None:
    sums.write("more.json", ["Yes."])
    done = sums("run", "More", "--session", "sums", "--script", "more.json")
    assert done.code == 0
    assert done.err.startswith("sums: without add now (--tool FILE:NAME)\n")
    assert sums.json("context", "sums")["tools"] == []


@pytest.fixture
def cut_off(refold: Refold) -> Refold:
    """A folder where a run was killed in the middle of its second sentence."""
    refold.write("tools.py", TOOLS)
    refold.write("slow.json", [SUMS[0], SLOW])
    words = ("run", "2 + 3?", "--session", "s", "--script", "slow.json", "--tool", "tools.py")
    with refold.started(*words) as process:
        read_until(process.stdout, b"one two")
        process.kill()
        process.wait()
    return refold


def test_a_run_that_was_cut_off_goes_on_before_the_prompt(cut_off: Refold) -> None:
    assert cut_off.ok("sessions").splitlines()[1].startswith("* s ")
    cut_off.write("rest.json", ["It is five.", "It is six."])
    words = ("run", "And 3 + 3?", "--session", "s", "--script", "rest.json", "--tool", "tools.py")
    done = cut_off(*words)
    assert done.code == 0
    assert done.out == "It is five.\nIt is six.\n"
    assert done.err.startswith("s: its run was cut off, and goes on\n")
    types = [event["type"] for event in cut_off.events("s")]
    assert types.count("recovered") == 1
    assert types.count("tool_returned") == 1
    assert not cut_off.ok("sessions").splitlines()[1].startswith("*")


def test_a_run_that_was_cut_off_goes_on_without_a_prompt(cut_off: Refold) -> None:
    cut_off.write("rest.json", ["It is five."])
    done = cut_off("run", "--session", "s", "--script", "rest.json", "--tool", "tools.py")
    assert (done.code, done.out) == (0, "It is five.\n")
    assert done.err.splitlines()[-1].startswith("s: run 1, events ")


def test_a_run_that_was_cut_off_wants_its_tools_again(cut_off: Refold) -> None:
    before = cut_off.events("s")
    cut_off.write("rest.json", ["It is five."])
    done = cut_off("run", "--session", "s", "--script", "rest.json")
    assert done.code == 1
    assert "give --tool FILE:add" in one_error(done.err)
    assert cut_off.events("s") == before


def test_a_session_at_rest_has_nothing_to_go_on_with(sums: Refold) -> None:
    done = sums("run", "--session", "sums", "--script", "sums.json", "--tool", "tools.py:add")
    assert done.code == 1
    assert "ends with an answer" in one_error(done.err)


def test_a_session_that_another_process_takes_over_is_let_go(refold: Refold) -> None:
    refold.write("slow.json", [SLOW])
    refold.write("rest.json", ["One to nine.", "Ten."])
    with refold.started("run", "Count", "--session", "s", "--script", "slow.json") as process:
        read_until(process.stdout, b"one two")
        done = refold("run", "And on", "--session", "s", "--script", "rest.json")
        assert (done.code, done.out) == (0, "One to nine.\nTen.\n")
        assert process.wait(timeout=30) == 1
        assert process.stderr is not None
        assert one_error(process.stderr.read().decode()).startswith(
            "another process has taken over session 's'"
        )
