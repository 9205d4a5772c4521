"""A reply in the form of OpenAI's chat completion chunks, read piece by piece. No I/O here.

Servers that call themselves compatible differ in what they leave out, repeat and rename; the tests
(`tests/bugs/corpus`) have a case for everything that is done here for one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from refold.actors.providers.blocks import CallBlock, TextBlock, TextKind
from refold.actors.providers.failure import ReplyError, error_in, excerpt
from refold.actors.providers.openai_wire import REASONING_FIELDS
from refold.actors.providers.provider import Began
from refold.events.agent.bodies import Piece
from refold.events.agent.messages import StopReason
from refold.events.agent.usage import NO_USAGE, Usage
from refold.events.canonical import canonical_text

_STOP = frozenset({"stop", "end", "end_turn", "eos", "eos_token", "stop_sequence"})
_LENGTH = frozenset({"length", "max_tokens"})
_TOOLS = frozenset({"tool_calls", "function_call", "tool_use"})


class OpenAIReply:
    """Reads the events of one reply; gives pieces, then the stop reason.

    Args:
        call: number of the model call; ids that a server did not give are made from it.

    Attributes:
        began: True once the server has sent a first part of it.
        done: True once the server has said that nothing more comes.
        usage: what the server has counted so far.
        response_id: the server's id of the reply; empty if it gave none.
    """

    def __init__(self, call: int) -> None:
        self._call = call
        self.began = False
        self._text: TextBlock | None = None
        self._calls: list[CallBlock] = []
        self._by_index: dict[int, CallBlock] = {}
        self._blocks = 0
        self._reason = ""
        self.done = False
        self.usage = NO_USAGE
        self.response_id = ""

    def take(self, data: str) -> Iterator[Began | Piece]:
        """Take the data of one event.

        Raises:
            ReplyError: the server reports an error, or sent what is no chunk.
        """
        if not data.strip():
            return
        if data.strip() == "[DONE]":
            self.done = True
            return
        chunk = _decoded(data)
        error = error_in(chunk)
        if error is not None:
            raise error
        if not isinstance(chunk, dict):
            raise ReplyError("protocol", f"the server sent what is no chunk: {excerpt(data)}")
        if not self.began:
            self.began = True
            yield Began()
        if not self.response_id and isinstance(chunk.get("id"), str):
            self.response_id = canonical_text(chunk["id"])
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            yield from self._choice(choice)

    @property
    def finished(self) -> bool:
        """True if the server has said how the reply ended: nothing of its content is missing."""
        return bool(self._reason) or (self.done and self._blocks > 0)

    def end(self) -> Iterator[Piece]:
        """The stream is over: the pieces that close what is open.

        Raises:
            ReplyError: it is over too early, or the server says that the reply failed.
        """
        if not self.finished:
            what = "said [DONE]" if self.done else "ended the stream"
            raise ReplyError(
                "network", f"the server {what} before the reply was finished (it is cut off)"
            )
        if self._reason == "content_filter":
            raise ReplyError("invalid_request", "the server's content filter stopped the reply")
        if self._reason and self._reason not in _STOP | _LENGTH | _TOOLS:
            raise ReplyError(
                "unknown", f"the server ended the reply for the reason {excerpt(self._reason)!r}"
            )
        if self._text is not None:
            yield from self._text.end()
        for number, call in enumerate(self._calls):
            call.id = call.id or self._unused(f"call_{self._call}_{number}")
            yield from call.end()

    @property
    def stop_reason(self) -> StopReason:
        """Why the model stopped, after `end`. Some servers say `stop` behind tool calls."""
        if self._reason in _LENGTH:
            return "length"
        return "tool_use" if self._calls else "stop"

    def _choice(self, choice: dict[str, Any]) -> Iterator[Piece]:
        self._count(choice.get("usage"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._blocks:
            delta = choice.get("message")  # a server that does not stream answers at once
        if not isinstance(delta, dict):
            return
        for field in REASONING_FIELDS:
            if isinstance(delta.get(field), str) and delta[field]:
                yield from self._say("thinking", delta[field], field)
                break  # some send the same under two names
        for kind, text in _texts(delta.get("content")):
            yield from self._say(kind, text)
        if isinstance(delta.get("refusal"), str):
            yield from self._say("text", delta["refusal"])
        entries = delta.get("tool_calls")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                yield from self._take_call(entry)

    def _say(self, kind: TextKind, text: str, signature: str = "") -> Iterator[Piece]:
        if not text:
            return
        if self._text is not None and self._text.kind != kind:
            yield from self._text.end()
            self._text = None
        if self._text is None:
            self._text = TextBlock(kind, self._next_index(), signature)
            yield self._text.start()
        yield from self._text.take(text)

    def _take_call(self, entry: dict[str, Any]) -> Iterator[Piece]:
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        id, name = _word(entry.get("id")), _word(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        if not isinstance(arguments, str):
            arguments = ""
        call = self._call_of(entry.get("index"), id, name)
        if call is None:
            if not (id or name or arguments):
                return
            if self._text is not None:
                yield from self._text.end()
                self._text = None
            call = CallBlock(self._next_index())
            self._calls.append(call)
            if isinstance(entry.get("index"), int):
                self._by_index[entry["index"]] = call
        # The first that is not empty holds: later parts repeat them, or blank them out.
        call.id = call.id or (self._unused(id) if id else "")
        call.name = call.name or name
        yield from call.take(arguments)

    def _call_of(self, index: Any, id: str, name: str) -> CallBlock | None:
        """The call that a part belongs to; None if it opens another one."""
        if isinstance(index, int):
            call = self._by_index.get(index)
            # Some servers send whole calls, and all of them with the index 0.
            another = call and id and name and call.has_arguments and id != call.id and call.id
            return None if another else call
        if id:
            return next((call for call in self._calls if call.id == id), None)
        return self._calls[-1] if self._calls else None

    def _unused(self, id: str) -> str:
        """`id`, made different if another call of this reply has it."""
        taken = {call.id for call in self._calls}
        unused, number = id, 1
        while unused in taken:
            number += 1
            unused = f"{id}_{number}"
        return unused

    def _next_index(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _count(self, usage: Any) -> None:
        """Usage is cumulative: what comes later replaces what came before."""
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        details = details if isinstance(details, dict) else {}
        prompt = _number(usage.get("prompt_tokens"))
        output = _number(usage.get("completion_tokens"))
        read = _number(details.get("cached_tokens", usage.get("prompt_cache_hit_tokens")))
        write = _number(details.get("cache_write_tokens"))
        old = self.usage
        read = old.cache_read if read is None else read
        write = old.cache_write if write is None else write
        if prompt is None:
            prompt = old.input + old.cache_read + old.cache_write
        self.usage = Usage.of(
            input=max(prompt - read - write, 0),
            output=old.output if output is None else output,
            cache_read=read,
            cache_write=write,
        )


def _decoded(data: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            return json.loads(data)  # takes lone surrogates, which servers do send
        except ValueError:
            raise ReplyError(
                "protocol", f"the server sent what is not JSON: {excerpt(data)}"
            ) from None


def _texts(content: Any) -> Iterator[tuple[TextKind, str]]:
    """The texts in a `content`, which is text, or a list of typed parts."""
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for part in content:
            if not isinstance(part, dict):
                continue
            if isinstance(part.get("text"), str):
                yield "text", part["text"]
            for _, thought in _texts(part.get("thinking")):
                yield "thinking", thought


def _word(value: Any) -> str:
    return canonical_text(value) if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
