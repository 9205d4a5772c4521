"""The runner tells what fails, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bugs import __main__ as command
from tests.bugs import loop
from tests.bugs.comparing import first_difference
from tests.bugs.corpus import CORPUS, SOURCE, bugs, differing, read, refresh
from tests.bugs.loop import difference
from tests.bugs.runner import run

ANY = {"type": "object"}


def script(*model: Any, timeline: Any = (), **given: Any) -> dict[str, Any]:
    begin = {"on": "start", "do": "prompt", "text": "go"}
    return {"tools": {}, "model": list(model), "timeline": [begin, *timeline], **given}


def tool(*steps: Any) -> dict[str, Any]:
    return {"parameters": ANY, "do": list(steps)}


def call(name: str, id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": id, "name": name, "arguments": arguments}]}


class TestComparing:
    @pytest.mark.parametrize(
        ("wanted", "got"),
        [
            ({"a": 1}, {"a": 1, "b": 2}),
            ({"any": [1, 2]}, 2),
            ({"contains": "b"}, "abc"),
            ({"nonempty": True}, "x"),
            ({"set": [1, {"contains": "b"}]}, ["abc", 1]),
            ({"length": 2, "last": {"a": 1}}, [0, {"a": 1, "b": 2}]),
            ([1, {"any": [2, 3]}], (1, 3)),
        ],
    )
    def test_what_is_allowed_is_no_difference(self, wanted: Any, got: Any) -> None:
        assert first_difference(wanted, got) is None

    @pytest.mark.parametrize(
        ("wanted", "got", "told"),
        [
            ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: expected 1, got 2"),
            ({"a": 1}, {}, "a: expected 1, got nothing"),
            (True, 1, "top: expected true, got 1"),
            ({"any": [1, 2]}, 3, 'top: expected {"any": [1, 2]}, got 3'),
            ({"set": [1, 1]}, [1, 2], 'top: expected {"set": [1, 1]}, got [1, 2]'),
            ({"length": 2}, [1], "length: expected 2, got 1"),
            ([1, 2], [1], "top: expected 2 items, got 1; the first that only was expected is 2"),
            ([1], [1, 2], "top: expected 1 items, got 2; the first that only was got is 2"),
        ],
    )
    def test_a_difference_names_its_place(self, wanted: Any, got: Any, told: str) -> None:
        assert first_difference(wanted, got) == told


class TestScripts:
    """Each step of the format does what it says."""

    def test_a_wrong_expectation_fails_with_its_place(self) -> None:
        found = difference(script({"text": "one"}), {"requests": [[{"role": "assistant"}]]})
        assert found == 'requests[0][0].role: expected "assistant", got "user"'

    def test_another_outcome_that_is_accepted_passes(self) -> None:
        case = {"final_text": "two", "accept": [{"final_text": "one"}]}
        assert difference(script({"text": "one"}), case) is None

    def test_a_request_beyond_the_script_fails(self) -> None:
        found = difference(script(call("nobody")), {})
        assert found == "the model was sent 1 requests more than the script has"

    def test_tools_count_record_and_compute(self) -> None:
        done = tool(
            {"count": "runs"}, {"record": True}, {"return_py": "'x' * 3", "details_py": "{'n': 3}"}
        )
        given = script(call("t", p=1), {"text": "done"}, tools={"t": done})
        case = {
            "counters": {"runs": 1},
            "per_call": [[{"error": True}, {"recorded": {"p": 1}, "text": "xxx", "error": False}]],
            "events": [
                ["tool_execution_start c1", "tool_execution_end c1 xxx", "message_end assistant"]
            ],
        }
        assert difference(given, case) is None
        wrong = {"per_call": [[{"recorded": {"p": 2}}]]}
        assert difference(given, wrong) == "per_call[0].recorded.p: expected 2, got 1"
        wrong = {"events": [["tool_execution_end c1", "tool_execution_start c1"]]}
        assert difference(given, wrong) == (
            "events[0]: 'tool_execution_start c1' did not come, or not in this order"
        )

    def test_raw_arguments_come_as_the_model_wrote_them(self) -> None:
        parameters = {"type": "object", "properties": {"p": {"type": "string"}}}
        reading = {"parameters": parameters, "do": [{"record": True}, {"return_args": "p"}]}
        raw = {"raw_tool_calls": [["c1", "t", '{"p": "a"}'], ["c2", "t", '{"p": ']]}
        case = {"per_call": {"c1": [{"recorded": {"p": "a"}}], "c2": [{"error": True}]}}
        assert difference(script(raw, {"text": "done"}, tools={"t": reading}), case) is None

    def test_a_stream_stalls_at_its_gate_until_that_is_opened(self) -> None:
        pieces = [
            {"thinking": "hm"},
            {"text": "a"},
            {"gate": "g"},
            {"tool_call_start": {"id": "c1", "name": "t"}},
            {"arguments": "{}"},
        ]
        opening = {"on": "stream_stalled", "do": "open_gate", "gate": "g"}
        done = tool({"return": "fine"})
        given = script({"stream": pieces}, {"text": "b"}, tools={"t": done}, timeline=[opening])
        assert difference(given, {"final_text": "b", "model_requests": 2}) is None

    def test_a_stream_that_fails_is_tried_again_as_often_as_is_allowed(self) -> None:
        failing = {"stream": [{"text": "a"}, {"error": "overloaded"}]}
        given = script(failing, failing, {"text": "b"}, retries=2)
        assert difference(given, {"final_text": "b", "model_requests": 3}) is None
        assert difference(given | {"retries": 1}, {"model_requests": 2}) is None

    def test_a_tool_waits_at_a_gate_and_for_the_signal(self) -> None:
        gated = tool({"wait_gate": "g"}, {"return": "passed"})
        waiting = tool({"wait_signal": True}, {"return": "told"})
        both = {"tool_calls": [*call("gated", "c1")["tool_calls"], *call("w", "c2")["tool_calls"]]}
        timeline = [
            {"on": "tool_start:c2", "do": "open_gate"},
            {"on": "tool_end:c1", "do": "abort"},
        ]
        given = script(both, tools={"gated": gated, "w": waiting}, timeline=timeline)
        case = {"per_call": [{"text": "passed"}, {"text": "told"}], "model_requests": 1}
        assert difference(given, case) is None

    def test_a_hook_blocks_a_call(self) -> None:
        given = script(
            call("t"),
            {"text": "done"},
            tools={"t": tool({"count": "runs"})},
            hooks={"before": {"t": {"block": "not now"}}},
        )
        case = {"counters": {"runs": 0}, "per_call": [{"error": True, "text": "not now"}]}
        assert difference(given, case) is None

    def test_a_run_goes_on_when_it_is_reopened_in_the_middle(self) -> None:
        waiting = tool({"wait_signal": True}, {"return": "told"})
        given = script(
            call("t"),
            {"text": "done"},
            tools={"t": waiting},
            timeline=[{"on": "tool_start:c1", "do": "reopen"}],
        )
        assert difference(given, {"per_call": [{"error": True}], "final_text": "done"}) is None

    def test_a_line_whose_event_never_comes_fails_by_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "LIMIT", 0.3)
        line = {"on": "turn_end:7", "do": "abort"}
        found = difference(script({"text": "one"}, timeline=[line]), {})
        assert found == f"a wait took over 0.3 s; left to do: [{line}]"

    def test_an_action_that_is_refused_fails(self) -> None:
        line = {"on": "turn_end:1", "do": "prompt", "text": "again"}
        found = difference(script({"text": "one"}, timeline=[line]), {})
        assert found is not None
        assert found.startswith("prompt raised BusyError")

    def test_what_a_thread_raises_behind_its_call_fails(self) -> None:
        raising = tool({"spawn_thread": [{"raise": "ValueError", "message": "x"}]}, {"return": "r"})
        found = difference(script(call("t"), {"text": "done"}, tools={"t": raising}), {})
        assert found == "raised in a thread that outlived its call: ValueError: x"

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (
                script(timeline=[{"on": "idle", "do": "compact"}]),
                "compaction is not there yet",
            ),
            (
                script({"text": "one"}, timeline=[{"on": "idle", "do": "dance"}]),
                "dance raised NotImplementedError: the action dance is not there yet",
            ),
        ],
    )
    def test_what_is_not_there_yet_fails_by_name(self, given: Any, told: str) -> None:
        assert difference(given, {}) == told


class TestCommand:
    def test_it_closes_with_the_numbers(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main([str(CORPUS), "B19", "B17"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "B17: failed: incomplete: provider openai-responses is not there yet",
            "B19: passed",
            "1 passed, 1 failed",
        ]

    def test_it_runs_one_kind(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        for id, kind in (("B1", "session"), ("B2", "loop")):
            (tmp_path / id).mkdir()
            told = {"id": id, "kind": kind, "cases": [{"script": "s.json"}]}
            (tmp_path / id / "expected.json").write_text(json.dumps(told))
            (tmp_path / id / "s.json").write_text(json.dumps(script({"text": "one"})))
        assert command.main([str(tmp_path), "--kind", "loop"]) == 0
        assert capsys.readouterr().out.splitlines() == ["B2: passed", "1 passed, 0 failed"]
        assert command.main([str(tmp_path)]) == 1
        assert "B1: failed: kind session is not there yet" in capsys.readouterr().out

    def test_a_folder_without_inputs_is_an_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command.main([str(tmp_path)]) == 2
        assert "has no input" in capsys.readouterr().err

    def test_an_input_that_cannot_be_run_fails_and_the_others_go_on(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "B1").mkdir()
        told = {"id": "B1", "kind": "loop", "cases": [{"script": "missing.json"}]}
        (tmp_path / "B1" / "expected.json").write_text(json.dumps(told))
        assert command.main([str(tmp_path)]) == 1
        assert "B1: failed: the runner raised FileNotFoundError" in capsys.readouterr().out

    def test_a_real_difference_goes_before_what_is_not_there_yet(self, tmp_path: Path) -> None:
        cases = [
            {"name": "a", "provider": "anthropic"},
            {
                "name": "b",
                "provider": "openai-chat",
                "body": "body",
                "status": 200,
                "content_type": "text/event-stream",
                "eof": "clean",
                "expected": {"stop_reason": "stop"},
            },
        ]
        told = {"id": "B1", "kind": "sse", "cases": cases}
        (tmp_path / "expected.json").write_text(json.dumps(told))
        (tmp_path / "body").write_bytes(b"")
        assert run(read(tmp_path)) == 'b: whole: stop_reason: expected "stop", got "error"'


class TestCopy:
    def test_it_holds_the_kinds_that_can_be_run(self) -> None:
        assert {bug.kind for bug in bugs(CORPUS)} == {"loop", "sse"}

    @pytest.mark.skipif(not SOURCE.is_dir(), reason="the source is not beside this checkout")
    def test_it_is_the_same_as_its_source(self) -> None:
        assert not differing(SOURCE), "python -m tests.bugs --refresh ../shared/bugs"

    def test_refreshing_copies_what_changed_and_removes_what_is_gone(self, tmp_path: Path) -> None:
        source, copy = tmp_path / "source", tmp_path / "copy"
        for folder, ids in ((source, "12"), (copy, "23")):
            for id in ids:
                (folder / id).mkdir(parents=True)
                told = {"id": id, "kind": "loop", "of": folder.name}
                (folder / id / "expected.json").write_text(json.dumps(told))
        (source / "3").mkdir()
        (source / "3" / "expected.json").write_text('{"id": "3", "kind": "scenario"}')
        (source / "FORMAT.md").write_text("words")
        assert refresh(source, copy) == [
            "1/expected.json",
            "2/expected.json",
            "3/expected.json",
            "FORMAT.md",
        ]
        assert differing(source, copy) == []
        assert not (copy / "3" / "expected.json").exists()
