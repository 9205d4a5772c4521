"""The translation `openai-chat/1`: its bytes are recorded by digest, so they must never change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refold.actors.providers.openai_wire import NAME, Kept, render, render_by, translation
from refold.events.agent.context import Request
from refold.events.agent.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from refold.events.canonical import Json
from refold.events.errors import InvalidArgumentError
from tests.actors.providers.replies import request


def user(*texts: str) -> UserMessage:
    return UserMessage(content=tuple(map(Text, texts)))


def said(*blocks: Any, **fields: Any) -> AssistantMessage:
    given = {"provider": "openai", "model": "test-model", "stop_reason": "stop", **fields}
    return AssistantMessage(content=blocks, **given)


def result(id: str, *content: Any, name: str = "read") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=id, tool_name=name, content=content)


def messages(sent: Request) -> list[dict[str, Any]]:
    body: dict[str, Any] = json.loads(render(sent))
    return body["messages"]  # type: ignore[no-any-return]


GOLDEN = request(
    user("Read a.txt,", "please."),
    said(
        Thinking("I should read it.", "reasoning_content"),
        Text("Reading."),
        ToolCall("call_1", "read", Json('{"path": "a.txt"}')),
        ToolCall("call_2", "now"),
        stop_reason="tool_use",
    ),
    result("call_1", Text("one"), Text("two")),
    result("call_2", Text("12:00"), name="now"),
    said(Text("It says \N{LEFT DOUBLE QUOTATION MARK}one\N{RIGHT DOUBLE QUOTATION MARK}.")),
    UserMessage(content=(Text("And this?"), Image("image/png", b"\x89PNG"))),
    system_prompt="Be brief.",
    thinking_level="high",
    tools=(
        ToolSpec(
            name="read",
            description="Read a file.",
            parameters=Json('{"type":"object","properties":{"path":{"type":"string"}}}'),
        ),
        ToolSpec(name="now"),
    ),
)

GOLDEN_BODY = (
    '{"model":"test-model","messages":['
    '{"role":"system","content":"Be brief."},'
    '{"role":"user","content":[{"type":"text","text":"Read a.txt,"},'
    '{"type":"text","text":"please."}]},'
    '{"role":"assistant","content":"Reading.","reasoning_content":"I should read it.",'
    '"tool_calls":[{"id":"call_1","type":"function",'
    '"function":{"name":"read","arguments":"{\\"path\\": \\"a.txt\\"}"}},'
    '{"id":"call_2","type":"function","function":{"name":"now","arguments":"{}"}}]},'
    '{"role":"tool","tool_call_id":"call_1","content":"one\\ntwo"},'
    '{"role":"tool","tool_call_id":"call_2","content":"12:00"},'
    '{"role":"assistant","content":"It says \u201cone\u201d."},'
    '{"role":"user","content":[{"type":"text","text":"And this?"},'
    '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}],'
    '"tools":[{"type":"function","function":{"name":"read","description":"Read a file.",'
    '"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},'
    '{"type":"function","function":{"name":"now","description":"",'
    '"parameters":{"type":"object","properties":{}}}}],'
    '"reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true}}'
)


def test_a_conversation_with_everything_in_it() -> None:
    assert render(GOLDEN).decode() == GOLDEN_BODY


def test_the_least_request() -> None:
    assert render(request()).decode() == (
        '{"model":"test-model","messages":[{"role":"user","content":"Hello"}],'
        '"stream":true,"stream_options":{"include_usage":true}}'
    )


def test_bytes_that_were_kept_are_the_same() -> None:
    kept = Kept()
    assert render(GOLDEN, None, kept) == render(GOLDEN, None, kept) == render(GOLDEN)


def test_what_was_kept_for_one_model_is_not_sent_to_another() -> None:
    kept = Kept()
    render(GOLDEN, None, kept)
    other = request(*GOLDEN.messages, model="other/model")
    assert render(other, None, kept) == render(other)


def test_a_full_memory_changes_nothing() -> None:
    kept = Kept(limit=100)
    assert [render(GOLDEN, None, kept) for _ in range(3)] == [render(GOLDEN)] * 3


def test_options_win_and_none_takes_a_field_away() -> None:
    body = json.loads(render(GOLDEN, {"temperature": 0, "stream_options": None}))
    assert body["temperature"] == 0
    assert "stream_options" not in body


def test_a_recorded_translation_renders_the_same_again() -> None:
    options = {"temperature": 0.5, "stream_options": None}
    name = translation(options)
    assert render_by(name, GOLDEN) == render(GOLDEN, options)
    assert render_by(NAME, GOLDEN) == render(GOLDEN)


def test_an_unknown_translation_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgumentError, match="openai-chat/99"):
        render_by("openai-chat/99", GOLDEN)


def test_thinking_goes_back_only_to_the_model_that_thought_it() -> None:
    thought = said(Thinking("hm", "reasoning"), Text("a"))
    assert messages(request(thought))[0]["reasoning"] == "hm"
    assert messages(request(thought, model="openai/other"))[0] == {
        "role": "assistant",
        "content": "a",
    }


def test_thinking_of_another_providers_kind_is_left_out() -> None:
    assert messages(request(said(Thinking("hm", "c2lnbmF0dXJl"), Text("a")))) == [
        {"role": "assistant", "content": "a"}
    ]


def test_a_reply_with_calls_alone_has_no_text() -> None:
    sent = request(said(ToolCall("c", "read"), stop_reason="tool_use"), result("c", Text("x")))
    assert messages(sent)[0]["content"] is None


def test_a_dangling_call_never_goes_out_alone() -> None:
    sent = request(said(ToolCall("c", "read"), stop_reason="tool_use"), user("go on"))
    assert [(m["role"], m.get("tool_call_id")) for m in messages(sent)] == [
        ("assistant", None),
        ("tool", "c"),
        ("user", None),
    ]
    assert messages(sent)[1]["content"] == "The call of read was not run."


def test_an_id_that_openai_would_refuse_is_replaced_at_both_ends() -> None:
    long = "fc_" + "x" * 450 + "|call"
    sent = request(
        said(ToolCall(long, "f"), ToolCall(long + "2", "f"), stop_reason="tool_use"),
        result(long, Text("one")),
        result(long + "2", Text("two")),
    )
    call, one, two = messages(sent)
    ids = [entry["id"] for entry in call["tool_calls"]]
    assert ids == [one["tool_call_id"], two["tool_call_id"]]
    assert len(set(ids)) == 2
    assert all(len(id) <= 40 and id.replace("_", "").isalnum() for id in ids)


@pytest.mark.parametrize(
    ("name", "sent"), [("", "unnamed"), ("a.b c", "a_b_c"), ("x" * 100, "x" * 64)]
)
def test_a_name_that_no_tool_could_have_is_made_one(name: str, sent: str) -> None:
    call = messages(request(said(ToolCall("c", name), stop_reason="tool_use")))[0]
    assert call["tool_calls"][0]["function"]["name"] == sent


@pytest.mark.parametrize("arguments", ['"{\\"a\\": "', "[1]", "3", "null", '{"a": '])
def test_arguments_go_out_as_an_object_always(arguments: str) -> None:
    call = said(ToolCall("c", "f", Json(arguments)), stop_reason="tool_use")
    sent = messages(request(call))[0]["tool_calls"][0]["function"]["arguments"]
    assert list(json.loads(sent)) == ["invalid_arguments"]


def test_images_of_results_follow_the_whole_batch() -> None:
    picture = Image("image/png", b"1")
    sent = request(
        said(ToolCall("c", "shoot"), ToolCall("d", "read"), stop_reason="tool_use"),
        result("c", picture, name="shoot"),
        result("d", Text("text")),
        said(Text("I see.")),
    )
    roles = [message["role"] for message in messages(sent)]
    assert roles == ["assistant", "tool", "tool", "user", "assistant"]
    assert messages(sent)[1]["content"] == "(see the images below)"
    assert messages(sent)[3]["content"] == [
        {"type": "text", "text": "Images from the tool shoot:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,MQ=="}},
    ]


def test_images_of_a_last_result_go_out_too() -> None:
    sent = request(
        said(ToolCall("c", "shoot"), stop_reason="tool_use"), result("c", Image("image/png", b"1"))
    )
    assert [message["role"] for message in messages(sent)] == ["assistant", "tool", "user"]


def test_an_image_that_was_erased_is_said_to_be_missing() -> None:
    sent = request(UserMessage(content=(Text("See:"), Image("image/png", blob=b"digest"))))
    assert messages(sent)[0]["content"][1] == {
        "type": "text",
        "text": "(the image is not available)",
    }


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_a_blank_system_prompt_is_left_out(prompt: str) -> None:
    assert [m["role"] for m in messages(request(system_prompt=prompt))] == ["user"]
