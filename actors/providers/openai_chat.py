"""Models behind OpenAI-compatible chat completions, over HTTP with server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from refold.actors.providers.failure import ReplyError
from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.providers.openai_reply import OpenAIReply
from refold.actors.providers.openai_wire import Kept, render, translation
from refold.actors.providers.provider import Began, Finish, StreamEvent
from refold.actors.providers.secret import KeySource, Secret, redacted, secrets_of
from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece
from refold.events.agent.context import Request
from refold.events.agent.messages import ErrorKind, StopReason
from refold.events.canonical import canonical_text
from refold.events.errors import InvalidArgumentError

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "$OPENAI_API_KEY"
CONNECT_TIMEOUT = 15.0
"""Seconds in which a connection must stand, whatever the server's time to answer."""

_DRAIN_TIMEOUT = 0.25
_ERROR_BODY_LIMIT = 64 * 1024
_EVENT_STREAM = "text/event-stream"


class OpenAIChat:
    """A provider of models: any server with `POST {base_url}/chat/completions`.

    Nothing of the key is ever shown: not in `repr`, errors, logs or the session's log, also where
    a server echoes it.

    Args:
        name: the word before the slash in the names of its models.
        base_url: where the server is, as far as `/v1`; None: `$OPENAI_BASE_URL`, else OpenAI.
        api_key: the key; `$NAME` for an environment variable; a function (also an async one), asked
            at each call; None for a server that wants none.
        headers: further headers of each request.
        options: further fields of each request's body, such as `{"temperature": 0}`; None takes a
            field away that is sent otherwise, such as `stream_options`.
        timeout: seconds that the server may stay silent, before and within a reply.
        transport: what sends the requests, in place of the network; for tests.

    Raises:
        InvalidArgumentError: an argument cannot be used; the message says which, and why.
    """

    def __init__(
        self,
        name: str = "openai",
        base_url: str | None = None,
        *,
        api_key: KeySource = OPENAI_KEY,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        timeout: float = 300.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not name or "/" in name or name != name.strip():
            raise InvalidArgumentError(
                f"a provider cannot be named {name!r}: give one word without a slash"
            )
        if timeout <= 0:
            raise InvalidArgumentError(f"timeout must be more than 0 seconds, not {timeout!r}")
        self._name = name
        self._base_url = None if base_url is None else _checked(base_url)
        self._key = Secret(api_key)
        self._headers = dict(headers or {})
        self._options = _checked_options(options or {})
        self._translation = translation(self._options)
        self._timeout = timeout
        self._transport = transport
        self._kept = Kept()
        # A connection belongs to its event loop, and two runtimes may share a provider.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"OpenAIChat({self._name!r}, {self._base_url or '$OPENAI_BASE_URL'!r})"

    @property
    def name(self) -> str:
        """The word before the slash in a model's name."""
        return self._name

    def check(self, model: str) -> None:
        """Look at what can be known without asking the server.

        Raises:
            InvalidArgumentError: no model is named, or there is no key.
        """
        if not model.strip():
            raise InvalidArgumentError(
                f"no model is named behind {self._name}/: give one, such as {self._name}/MODEL"
            )
        # Other servers may want no key at all; OpenAI always does.
        if self._key.missing and _url(self._base_url) == OPENAI_URL:
            raise InvalidArgumentError(f"{self._name}/{model} needs an API key: {self._key_hint()}")

    async def stream(
        self, request: Request, signal: AbortSignal
    ) -> AsyncGenerator[StreamEvent, None]:
        """Call a model (see `Provider.stream`)."""
        if signal.aborted:
            yield _aborted(Finish(stop_reason="aborted"))
            return
        body = render(request, self._options, self._kept)
        digest = blake2b(body, digest_size=16).digest()
        reply = OpenAIReply(request.call)
        secrets: list[str] = []

        def finish(stop_reason: StopReason) -> Finish:
            return Finish(
                stop_reason=stop_reason,
                usage=reply.usage,
                response_id=reply.response_id,
                translation=self._translation,
                wire_digest=digest,
            )

        # The end is given after the response is closed: who gets it need not ask for more.
        end: Finish
        try:
            async with aclosing(self._events(body, reply, secrets, signal)) as stream:
                async for event in stream:
                    yield event
            end = finish(reply.stop_reason)
        except AbortedError:
            end = _aborted(finish("aborted"))
        except ReplyError as error:
            end = self._failed(finish("error"), error.kind, error.message, secrets)
        except httpx.TransportError as error:
            kind, message = self._transport_failure(error)
            end = self._failed(finish("error"), kind, message, secrets)
        yield end

    async def close(self) -> None:
        """Give back the connections of the running event loop; a later call makes new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _events(
        self, body: bytes, reply: OpenAIReply, secrets: list[str], signal: AbortSignal
    ) -> AsyncGenerator[Began | Piece, None]:
        key = await unless_aborted(signal, self._key.read())
        secrets += secrets_of(key, self._headers)
        client = self._client()
        request = client.build_request(
            "POST",
            f"{_url(self._base_url)}/chat/completions",
            content=body,
            headers={
                "Accept": _EVENT_STREAM,
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {key}"} if key else {}),
                **self._headers,
            },
        )
        response = await unless_aborted(signal, client.send(request, stream=True))
        try:
            if response.status_code != 200:
                raise await unless_aborted(signal, _refusal(response))
            try:
                async for event in _replied(response, reply, signal):
                    yield event
            except httpx.TimeoutException:
                raise
            except httpx.TransportError as error:
                # What was finished before the connection broke is whole; only its usage may lack.
                if not reply.finished:
                    raise ReplyError(
                        "protocol",
                        "the connection broke before the reply was finished (it is cut off): "
                        f"{error or type(error).__name__}",
                    ) from None
            for piece in reply.end():
                yield piece
        finally:
            await response.aclose()

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx.AsyncClient(
                transport=self._transport,
                timeout=httpx.Timeout(
                    self._timeout, connect=min(self._timeout, CONNECT_TIMEOUT), pool=None
                ),
                # How many calls there are at once is the callers' affair; none waits for another.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            )
        return client

    def _failed(self, finish: Finish, kind: ErrorKind, message: str, secrets: list[str]) -> Finish:
        if kind == "auth":
            message = f"{message}. {self._key_hint()}"
        text = canonical_text(redacted(f"{self._name}: {message}", tuple(secrets)))
        return _changed(finish, error_kind=kind, error_message=text)
