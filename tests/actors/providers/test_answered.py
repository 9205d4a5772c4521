"""The form of a conversation that every provider takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.agent.context import answered
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text),))


def called(*ids: str, stop_reason: StopReason | None = "tool_use") -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id, "f") for id in ids), stop_reason=stop_reason)


def said(text: str, stop_reason: StopReason = "stop") -> AssistantMessage:
    return AssistantMessage(content=(Text(text),), stop_reason=stop_reason)


def result(id: str, text: str = "done") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=id, tool_name="f", content=(Text(text),))


def shown(*messages: Message) -> list[Any]:
    """What goes out, in brief: texts, lists of call ids, and (call id, text) of results."""
    brief: list[Any] = []
    for message in answered(messages):
        if isinstance(message, ToolResultMessage):
            brief.append((message.tool_call_id, message.text))
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            brief.append([call.id for call in message.tool_calls])
        else:
            brief.append(message.text)
    return brief


NOT_RUN = "The call of f was not run."


def test_a_sound_conversation_goes_out_as_it_is() -> None:
    sound: list[Message] = [user("a"), called("1", "2"), result("2"), result("1"), said("b")]
    assert list(answered(sound)) == sound
    assert all(new is old for new, old in zip(answered(sound), sound, strict=True))


def test_calls_without_results_are_answered_before_the_next_message() -> None:
    assert shown(called("1", "2"), result("1"), user("b")) == [
        ["1", "2"],
        ("1", "done"),
        ("2", NOT_RUN),
        "b",
    ]


def test_calls_at_the_end_are_answered() -> None:
    assert shown(called("1")) == [["1"], ("1", NOT_RUN)]


def test_a_result_without_its_call_is_left_out() -> None:
    assert shown(result("1"), user("a"), called("1"), result("1"), result("1")) == [
        "a",
        ["1"],
        ("1", "done"),
    ]


def test_a_result_that_comes_too_late_is_left_out() -> None:
    assert shown(called("1"), user("a"), result("1")) == [["1"], ("1", NOT_RUN), "a"]


def test_an_id_given_again_later_is_made_different_with_its_result() -> None:
    assert shown(called("1"), result("1", "a"), called("1"), result("1", "b")) == [
        ["1"],
        ("1", "a"),
        ["1_2"],
        ("1_2", "b"),
    ]


def test_an_id_given_twice_in_one_message_pairs_by_occurrence() -> None:
    assert shown(called("1", "1"), result("1", "a"), result("1", "b")) == [
        ["1", "1_2"],
        ("1", "a"),
        ("1_2", "b"),
    ]


def test_an_id_that_looks_like_a_made_one_stays_distinct() -> None:
    assert shown(called("1_2", "1", "1", "1_2")) == [
        ["1_2", "1", "1_3", "1_2_2"],
        ("1_2", NOT_RUN),
        ("1", NOT_RUN),
        ("1_3", NOT_RUN),
        ("1_2_2", NOT_RUN),
    ]


def test_an_empty_id_is_given_one() -> None:
    assert shown(called(""), result("", "a")) == [["call"], ("call", "a")]


@pytest.mark.parametrize("stop_reason", ["error", "aborted", None])
def test_a_failed_message_keeps_its_text_and_loses_its_calls(
    stop_reason: StopReason | None,
) -> None:
    failed = AssistantMessage(
        content=(Thinking("hm"), Text("half"), ToolCall("1", "f")), stop_reason=stop_reason
    )
    assert shown(failed, result("1"), user("b")) == ["half", "b"]
    assert shown(called("1", stop_reason=stop_reason), user("b")) == ["b"]


def test_blank_texts_and_empty_messages_are_left_out() -> None:
    picture = Image("image/png", b"1")
    blanks = UserMessage(content=(Text(""), picture, Text(" \n")))
    assert list(answered([user(""), blanks, said(" "), UserMessage(content=())])) == [
        UserMessage(content=(picture,))
    ]


def test_thinking_alone_is_no_message() -> None:
    assert shown(AssistantMessage(content=(Thinking("hm"),), stop_reason="stop")) == []


@pytest.mark.parametrize("content", [(), (Text(""),), (Text("\n"),)])
def test_a_result_without_text_says_so(content: tuple[Text, ...]) -> None:
    empty = ToolResultMessage(tool_call_id="1", tool_name="f", content=content)
    assert shown(called("1"), empty) == [["1"], ("1", "(no output)")]


def test_custom_messages_are_left_out() -> None:
    assert shown(CustomMessage(kind="note"), user("a")) == ["a"]


ids = st.sampled_from(["", "1", "1_2", "2"])
texts = st.sampled_from(["", " ", "a", "b"])
assistants = st.builds(
    AssistantMessage,
    content=st.lists(
        st.one_of(
            st.builds(Text, texts), st.builds(Thinking, texts), st.builds(ToolCall, ids, texts)
        ),
        max_size=4,
    ).map(tuple),
    stop_reason=st.sampled_from(["stop", "tool_use", "length", "error", "aborted", None]),
)
conversations = st.lists(
    st.one_of(
        assistants,
        st.builds(result, ids, texts),
        st.builds(user, texts),
        st.just(CustomMessage(kind="note")),
    ),
    max_size=12,
)


@given(conversations)
def test_every_call_is_answered_once_directly_behind_its_message(
    conversation: list[Message],
) -> None:
    waiting: list[str] = []
    given: set[str] = set()
    for message in answered(conversation):
        assert message.content  # type: ignore[union-attr]  # none is a custom message
        if isinstance(message, ToolResultMessage):
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
            continue
        assert waiting == []
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                assert call.id
                assert call.id not in given
                given.add(call.id)
                waiting.append(call.id)
    assert waiting == []


@given(conversations)
def test_what_goes_out_is_in_that_form_already(conversation: list[Message]) -> None:
    once = list(answered(conversation))
    assert list(answered(once)) == once


@given(conversations, conversations)
def test_what_comes_later_changes_nothing_that_went_out_before(
    before: list[Message], after: list[Message]
) -> None:
    # Up to the message that still waits for results: so providers' prompt caches stay warm.
    sent = [m for m in answered(before) if not (isinstance(m, ToolResultMessage))]
    longer = [m for m in answered(before + after) if not (isinstance(m, ToolResultMessage))]
    assert longer[: len(sent)] == sent
