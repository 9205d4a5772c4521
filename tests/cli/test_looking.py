"""`refold sessions`, `log`, `at`, `context` and `verify`."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from tests.cli.refold import Refold, interrupt, read_until

ESCAPE = "\x1b"


def mid_sentence(refold: Refold) -> int:
    """A version in the middle of the streamed sentence `It is five.`"""
    events = refold.events("sums")
    [delta] = [e["version"] for e in events if e["type"] == "model_delta" and _says(e, "It i")]
    updates = [e["version"] for e in events if e["type"] == "message_update"]
    return min(version for version in updates if version > delta)


def _says(event: dict[str, Any], text: str) -> bool:
    return any(piece["text"] == text for piece in event["content"])


def digest(log: Path) -> str:
    return hashlib.sha256((log / "data.mdb").read_bytes()).hexdigest()


def test_looking_changes_no_byte_of_the_log(sums: Refold) -> None:
    before = digest(sums.folder / "runs.refold")
    for words in (["sessions"], ["log", "sums"], ["at", "sums", "9"], ["context", "sums"]):
        sums.ok(*words)
        sums.ok(*words, "--json")
    sums.ok("verify")
    assert digest(sums.folder / "runs.refold") == before


def test_looking_makes_no_log(refold: Refold) -> None:
    for words in (["sessions"], ["log", "s"], ["at", "s", "end"], ["context", "s"], ["verify"]):
        assert "there is no log at" in refold.refuses(*words)
    assert list(refold.folder.iterdir()) == []


def test_sessions_lists_names_sizes_and_first_prompts(sums: Refold) -> None:
    heading, line = sums.look("sessions").splitlines()
    assert heading.split() == ["session", "events", "last", "event", "prompt"]
    assert re.fullmatch(r"  sums +\d+  \d{4}-\d\d-\d\d \d\d:\d\d  What is 2 \+ 3\?", line)
    [row] = sums.json("sessions")["sessions"]
    assert set(row) == {"name", "stream", "version", "created", "updated", "running", "prompt"}
    assert (row["name"], row["running"], row["prompt"]) == ("sums", False, "What is 2 + 3?")
    assert re.fullmatch("[0-9a-f]{32}", row["stream"])


def test_a_log_without_sessions_says_so(refold: Refold) -> None:
    refold.python("-c", "import refold; refold.open('runs.refold').close()")
    assert "no sessions yet" in refold.look("sessions")
    assert refold.json("sessions") == {"sessions": []}


def test_log_has_one_line_an_event_with_its_version(sums: Refold) -> None:
    day, *lines = sums.look("log", "sums").splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    events = sums.events("sums")
    assert [int(line.split()[0]) for line in lines] == [event["version"] for event in events]
    shown = "\n".join(lines)
    assert re.search(r"  prompted +What is 2 \+ 3\?", shown)
    assert re.search(r"  tool_returned +add: 5", shown)
    assert re.search(r'  model_delta +\(thinking\) Two and three. I add them. → add {"a":2', shown)


def test_log_lines_in_json_have_fact_and_content(sums: Refold) -> None:
    events = sums.events("sums")
    assert all(
        set(event) == {"version", "time", "record", "type", "fact", "content"} for event in events
    )
    by_type = {event["type"]: event for event in events}
    assert by_type["prompted"]["content"][0]["content"] == [
        {"type": "text", "text": "What is 2 + 3?", "signature": ""}
    ]
    assert by_type["tool_returned"]["content"]["content"][0]["text"] == "5"
    assert by_type["settings_requested"]["fact"]["tools"]["heads"][0]["name"] == "add"
    assert by_type["turn_start"]["content"] is None


def test_log_shows_a_stretch_between_points(sums: Refold) -> None:
    events = sums.events("sums")
    assert sums.events("sums", "--last", "3") == events[-3:]
    assert sums.events("sums", "--after", "5", "--until", "9") == events[5:9]
    first_turn = next(e["version"] for e in events if e["type"] == "turn_end")
    assert sums.events("sums", "--after", "turn:1") == events[first_turn:]
    assert sums.events("sums", "--until", "turn:1", "--last", "1") == [events[first_turn - 1]]
    # Beginning in the middle, the states are still those of the whole. (The first line has a time.)
    rest = sums.look("log", "sums", "--after", "turn:1").splitlines()[2:]
    assert rest == sums.look("log", "sums").splitlines()[-len(rest) :]


def test_log_follows_what_another_process_appends(sums: Refold) -> None:
    sums.write("hello.json", ["Hello."])
    with sums.started("log", "sums", "--follow", "--last", "1") as process:
        read_until(process.stdout, b" settled\n")
        sums.ok("run", "Hi", "--session", "sums", "--script", "hello.json")
        shown = read_until(process.stdout, b" settled\n").decode()
        interrupt(process)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert re.search(r" prompted +Hi\n", shown)
    first, *_ = re.findall(r"^ +(\d+) ", shown, re.MULTILINE)
    assert int(first) == len(sums.look("log", "sums", "--until", first).splitlines()) - 1


def test_at_shows_what_was_on_screen_in_the_middle_of_a_sentence(sums: Refold) -> None:
    version = mid_sentence(sums)
    shown = sums.look("at", "sums", str(version))
    assert shown.startswith(f"sums at version {version} of ")
    assert shown.splitlines()[-2:] == ["assistant (streaming)", "            It i"]
    state = sums.json("at", "sums", str(version))
    assert state["streaming_message"]["content"][0]["text"] == "It i"
    assert state["is_streaming"] is True
    assert len(state["messages"]) == 3


def test_at_in_json_has_the_state_and_where_it_stands(sums: Refold) -> None:
    state = sums.json("at", "sums", "end")
    assert set(state) == {
        *("session", "last_version", "time", "event", "phase", "run", "version"),
        *("system_prompt", "model", "thinking_level", "tools", "messages", "is_streaming"),
        *("streaming_message", "pending_tool_calls", "error_message", "queued"),
    }
    assert state["version"] == state["last_version"]
    assert (state["event"], state["phase"], state["run"]) == ("settled", "idle", 1)
    assert state["system_prompt"] == "Be exact."
    assert [message["role"] for message in state["messages"]] == [
        *("user", "assistant", "tool_result", "assistant"),
    ]
    assert state["tools"][0]["parameters"]["required"] == ["a", "b"]
    assert state["queued"] == {"steering": [], "follow_up": [], "next_turn": []}


def test_at_takes_every_form_of_point(sums: Refold) -> None:
    events = sums.events("sums")
    last = events[-1]["version"]
    time = "2100-01-01T00:00"

    def version(point: str) -> Any:
        return sums.json("at", "sums", point)["version"]

    assert version("0") == 0
    assert version("7") == 7
    assert version("-3") == last - 3
    assert version("end") == last
    assert version(time) == last
    assert version("turn:2") == [e["version"] for e in events if e["type"] == "turn_end"][1]
    assert version("call:2") == [e["version"] for e in events if e["type"] == "model_called"][1]


def test_at_zero_is_a_session_before_its_first_event(sums: Refold) -> None:
    shown = sums.look("at", "sums", "0")
    assert "before its first event" in shown
    assert "none active, 0 runs so far" in shown


def test_at_shows_queued_messages(refold: Refold) -> None:
    done = refold.python(
        "-c",
        "import refold\n"
        "with refold.open('runs.refold', providers=[refold.Scripted()]) as runtime:\n"
        "    session = runtime.session('s', model='scripted', idle_queue='hold')\n"
        "    session.steer('Left.'); session.follow_up('Right.')\n",
    )
    assert done.code == 0, done.err
    shown = refold.look("at", "s", "end")
    assert re.search(r"\nsteering +\d+: Left\.\n", shown)
    assert re.search(r"\nfollow-up +\d+: Right\.\n", shown)
    queued = refold.json("at", "s", "end")["queued"]
    assert set(queued) == {"steering", "follow_up", "next_turn"}
    assert queued["steering"][0]["messages"][0]["content"][0]["text"] == "Left."


def test_long_conversations_and_texts_are_shown_in_part(refold: Refold) -> None:
    refold.write("poem.json", ["\n".join(f"line {n}" for n in range(100))] * 11)
    done = refold.python(
        "-c",
        "import json, refold\n"
        "scripted = refold.Scripted(json.load(open('poem.json')))\n"
        "with refold.open('runs.refold', providers=[scripted]) as runtime:\n"
        "    session = runtime.session('s', model='scripted')\n"
        "    for n in range(11): session.prompt(f'prompt {n}').result()\n",
    )
    assert done.code == 0, done.err
    shown = refold.look("at", "s", "end")
    assert "(2 earlier messages: --all shows them)" in shown
    assert "(88 more lines: --all shows them)" in shown
    assert "prompt 0" not in shown
    whole = refold.look("at", "s", "end", "--all")
    assert "--all" not in whole
    assert "line 99" in whole
    assert "prompt 0" in whole


def test_context_shows_what_each_call_was_sent(sums: Refold) -> None:
    first, second = sums.json("context", "sums", "--call", "1"), sums.json("context", "sums")
    assert (first["call"], second["call"]) == (1, 2)
    assert sums.json("context", "sums", "--call", "-2") == first
    assert [message["role"] for message in second["messages"]] == [
        *("user", "assistant", "tool_result"),
    ]
    assert set(first) == {
        *("session", "call", "model", "thinking_level", "system_prompt", "tools", "messages"),
    }
    shown = sums.look("context", "sums", "--call", "2")
    assert re.search(r"\nsystem +Be exact\.\n", shown)
    assert re.search(r"\ntools +add: Add two numbers\.\n", shown)
    assert re.search(r"\nresult +add: 5\n", shown)


def test_verify_tells_a_whole_log_from_a_damaged_one(sums: Refold) -> None:
    shown = sums.look("verify")
    assert shown.startswith("whole    runs.refold: 1 session, ")
    report = sums.json("verify")
    assert report["ok"] is True
    assert report["problems"] == []
    assert f"head     {report['head']}\n" in shown
    assert sums.look("verify", "--head", report["head"]) == shown

    data = sums.folder / "runs.refold" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"I add them.", b"I sub them."))
    done = sums("verify")
    assert done.code == 1
    assert "problem  sums: " in done.out
    assert "damaged  runs.refold: " in done.out
    report_done = sums("verify", "--json")
    assert report_done.code == 1
    assert '"session": "sums"' in report_done.out


def test_verify_against_another_head_fails(sums: Refold) -> None:
    head = sums.json("verify")["head"]
    position, digest = head.split(":")
    other = f"{position}:{digest[::-1]}"
    assert sums("verify", "--head", other).code == 1


def test_colours_are_for_terminals_only(sums: Refold) -> None:
    for words in (["log", "sums"], ["at", "sums", "end"], ["--help"]):
        assert ESCAPE in sums.on_terminal(*words), words
        assert ESCAPE not in sums.ok(*words), words
        assert ESCAPE not in sums.on_terminal(*words, env={"NO_COLOR": "1"}), words
        assert ESCAPE not in sums.on_terminal(*words, env={"TERM": "dumb"}), words


def test_lines_fit_the_terminal(sums: Refold) -> None:
    plain = {"NO_COLOR": "1"}
    for columns in (24, 70):
        for words in (["sessions"], ["log", "sums"], ["at", "sums", "end"], ["context", "sums"]):
            shown = sums.on_terminal(*words, columns=columns, env=plain)
            assert max(map(len, shown.splitlines())) <= columns, (columns, words)


def test_a_terminal_shows_control_codes_and_does_not_obey_them(refold: Refold) -> None:
    refold.write("evil.json", ["\x1b[2J\x1b]0;owned\x07 and \u202eback"])
    for words in (
        ["run", "\x1b[31mHi", "--session", "evil", "--script", "evil.json"],
        ["log", "evil"],
        ["at", "evil", "end"],
        ["sessions"],
    ):
        shown = refold.on_terminal(*words, env={"NO_COLOR": "1"})
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", shown), words
    assert "␛[2J␛]0;owned␇ and " in refold.on_terminal("at", "evil", "end")


def test_a_pipe_gets_the_answer_as_it_is(refold: Refold) -> None:
    refold.write("red.json", ["\x1b[31mred\x1b[0m"])
    assert refold.ok("run", "Hi", "--script", "red.json") == "\x1b[31mred\x1b[0m\n"
