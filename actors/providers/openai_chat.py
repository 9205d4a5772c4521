"""Models behind OpenAI-compatible chat completions, over HTTP with server-sent events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from msgspec.structs import replace

from refold.actors.providers.address import checked_url
from refold.actors.providers.connection import Connection
from refold.actors.providers.failure import ReplyError, excerpt
from refold.actors.providers.http_failure import broken_off, no_answer, refusal
from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.providers.openai_reply import OpenAIReply
from refold.actors.providers.openai_wire import Kept, checked_options, render, translation
from refold.actors.providers.provider import ABORTED, Began, Finish, StreamEvent
from refold.actors.providers.secret import KeySource, Secret, redacted, secrets_of
from refold.actors.providers.sse import Body, events
from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece
from refold.events.agent.context import Request
from refold.events.canonical import canonical_text
from refold.events.errors import InvalidArgumentError

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT = 15.0
"""Seconds in which a connection must stand, however long the server may take to answer."""

DRAIN_TIMEOUT = 0.25
"""Seconds that a server has to end its response after its last event. A connection whose response
has ended can be used again; most servers end it at once.
"""


class OpenAIChat:
    """A provider of models: any server with `POST {base_url}/chat/completions`.

    Nothing of the key is ever shown: not in `repr`, in errors or in a log, also where a server
    echoes it.

    Args:
        name: the word before the slash in the names of its models.
        base_url: where the server is, up to and with `/v1`; None: `$OPENAI_BASE_URL`, else OpenAI.
        api_key: the key; `$NAME` for an environment variable; a function (also an async one), asked
            at each call; None for a server that wants none.
        headers: further headers of each request.
        options: further fields of each request's body, such as `{"temperature": 0}`. None takes a
            field away that is sent otherwise, such as `stream_options`.
        trust_env: whether the proxies that the environment names are used.
        timeout: seconds that the server may stay silent, before a reply and within it.
        transport: what sends the requests, in place of the network; for tests.

    Raises:
        InvalidArgumentError: an argument cannot be used; the message says which, and why.
    """

    def __init__(
        self,
        name: str = "openai",
        base_url: str | None = None,
        *,
        api_key: KeySource = "$OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        trust_env: bool = True,
        timeout: float = 300.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not name or "/" in name or name != name.strip():
            raise InvalidArgumentError(
                f"a provider cannot be named {name!r}: give one word without a slash"
            )
        if timeout <= 0:
            raise InvalidArgumentError(f"timeout is {timeout!r}: give seconds, more than 0")
        self._name = name
        self._base_url = None if base_url is None else checked_url(base_url)
        self._secret = Secret(api_key)
        self._headers = dict(headers or {})
        self._options = checked_options(options or {})
        self._translation = translation(self._options)
        self._trust_env = trust_env
        self._timeout = timeout
        self._transport = transport
        self._kept = Kept()
        # Connections belong to an event loop, and two runtimes may share a provider.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"OpenAIChat({self._name!r}, {self._base_url or '$OPENAI_BASE_URL'!r})"

    @property
    def name(self) -> str:
        """The word before the slash in the names of its models."""
        return self._name

    @property
    def base_url(self) -> str:
        """Where the server is.

        Raises:
            InvalidArgumentError: `$OPENAI_BASE_URL` is no address.
        """
        if self._base_url is not None:
            return self._base_url
        return checked_url(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)

    def check(self, model: str) -> None:
        """Look at what can be known without asking the server (see `Provider.check`)."""
        if not model.strip():
            raise InvalidArgumentError(
                f"{self._name}/ names no model: write {self._name}/MODEL, with the name that "
                "the server knows it by"
            )
        # Other servers may want no key; OpenAI always does.
        if self.base_url == OPENAI_URL and self._secret.missing:
            raise InvalidArgumentError(
                f"{self._name}/{model} needs an API key. {self._secret.advice}"
            )

    async def stream(
        self, request: Request, signal: AbortSignal, *, api_key: str | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Call a model (see `Provider.stream`)."""
        if signal.aborted:
            yield ABORTED
            return
        secret = self._secret if api_key is None else Secret(lambda: api_key)
        body = render(request, self._options, self._kept)
        reply = OpenAIReply(request.call)
        secrets: list[str] = []
        try:
            async with aclosing(self._events(body, reply, signal, secret, secrets)) as stream:
                async for event in stream:
                    yield event
            end = Finish(stop_reason=reply.stop_reason)
        except AbortedError:
            end = ABORTED
        except ReplyError as error:
            end = self._failed(error, secret, secrets)
        except httpx.TransportError as error:
            failure = no_answer(error, self.base_url, self._timeout)
            end = self._failed(failure, secret, secrets)
        # Behind the response's end, for whoever gets a Finish need not ask for more.
        yield replace(
            end,
            usage=reply.usage,
            response_id=reply.response_id,
            translation=self._translation,
            wire_digest=blake2b(body, digest_size=16).digest(),
        )

    async def close(self) -> None:
        """Give back the connections of this event loop. A later call would make new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _events(
        self,
        body: bytes,
        reply: OpenAIReply,
        signal: AbortSignal,
        secret: Secret,
        secrets: list[str],
    ) -> AsyncGenerator[Began | Piece, None]:
        key = await unless_aborted(signal, secret.read())
        secrets += secrets_of(key, self._headers)
        response = await unless_aborted(signal, self._sent(body, key))
        try:
            if response.status_code != 200:
                raise await unless_aborted(signal, refusal(response))
            async for event in _read(response, reply, signal):
                yield event
        finally:
            await response.aclose()

    async def _sent(self, body: bytes, key: str) -> httpx.Response:
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        client = self._client()
        while True:
            connection = Connection()
            request = client.build_request(
                "POST",
                f"{self.base_url}/chat/completions",
                content=body,
                headers={**headers, **self._headers},
                extensions={"trace": connection},
            )
            try:
                return await client.send(request, stream=True)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                # Servers close connections that were kept, and it may be too late to see that:
                # the request then gets no answer. It goes out again over another connection.
                if not connection.kept:
                    raise

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            connect = min(self._timeout, CONNECT_TIMEOUT)
            client = self._clients[loop] = httpx.AsyncClient(
                transport=self._transport,
                trust_env=self._trust_env,
                # Redirects are not followed, so without https no certificate is ever looked at;
                # reading the known ones takes a while.
                verify=self.base_url.startswith("https:"),
                timeout=httpx.Timeout(self._timeout, connect=connect, pool=None),
                # How many calls there are at once is for the callers to say; none waits here.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            )
        return client

    def _failed(self, error: ReplyError, secret: Secret, secrets: list[str]) -> Finish:
        message = f"{self._name}: {error.message}"
        if error.kind == "auth":
            message += f". {secret.advice}"
        return Finish(
            stop_reason="error",
            error_kind=error.kind,
            error_message=canonical_text(redacted(message, secrets)),
            retry_after=error.retry_after,
        )


async def _read(
    response: httpx.Response, reply: OpenAIReply, signal: AbortSignal
) -> AsyncGenerator[Began | Piece, None]:
    """Read a response to its end, whatever the server made of it."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = Body(response)
    try:
        if kind.endswith("json"):  # an error; or a whole reply from a server that does not stream
            text = (await unless_aborted(signal, response.aread())).decode("utf-8", "replace")
            for event in reply.take(text):
                yield event
        else:
            async for event in _streamed(body, reply, signal):
                yield event
    except httpx.TimeoutException:
        raise
    except httpx.TransportError as error:
        if not reply.finished:  # else only the usage may lack
            raise broken_off(error) from None
    try:
        for piece in reply.end():
            yield piece
    except ReplyError as error:
        if reply.began:
            raise
        what = f"; what it sent begins: {excerpt(body.head)}" if body.head else ""
        raise ReplyError(error.kind, error.message + what) from None


async def _streamed(
    body: Body, reply: OpenAIReply, signal: AbortSignal
) -> AsyncGenerator[Began | Piece, None]:
    async with aclosing(events(body)) as stream:
        while not reply.done:
            data = await unless_aborted(signal, anext(stream, None))
            if data is None:
                return
            for event in reply.take(data):
                if signal.aborted:
                    raise AbortedError
                yield event
        with suppress(TimeoutError, httpx.TransportError):
            async with asyncio.timeout(DRAIN_TIMEOUT):
                await anext(stream, None)
