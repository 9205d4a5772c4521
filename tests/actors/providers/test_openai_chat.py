"""Calls over real HTTP, and all that can happen to them on the way."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable
from hashlib import blake2b
from typing import Any

import httpx
import pytest

from refold.actors.providers.openai_chat import OpenAIChat
from refold.actors.providers.openai_wire import render, render_by
from refold.actors.providers.provider import ABORTED, Began, Finish, StreamEvent
from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece
from refold.events.agent.context import Request
from refold.events.agent.usage import Usage
from refold.events.errors import InvalidArgumentError
from tests.actors.providers.replies import Outcome, outcome, request, run
from tests.actors.providers.server import HELLO, Answer, Server, chunk, event, finish

KEY = "sk-this-is-secret"


class Sending(httpx.AsyncBaseTransport, httpx.AsyncByteStream):
    """A network that gives these parts of a body; one that is an exception is raised."""

    def __init__(self, *parts: bytes | Exception, status: int = 200) -> None:
        self.parts = parts
        self.status = status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, Exception):
                raise part
            yield part


class Raising(httpx.AsyncBaseTransport):
    """A network that fails before anything comes."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


def provider_of(server: Server, **options: Any) -> OpenAIChat:
    # Without the environment, whose proxies know nothing of the test's server.
    return OpenAIChat(base_url=server.url, **{"api_key": KEY, "trust_env": False, **options})


async def call(
    server: Server,
    sent: Request | None = None,
    signal: AbortSignal | None = None,
    on: Callable[[StreamEvent], None] = lambda event: None,
    **options: Any,
) -> Outcome:
    provider = provider_of(server, **options)
    try:
        return await outcome(provider, sent, signal, on)
    finally:
        await provider.close()


def answered(*answers: Answer, **options: Any) -> Outcome:
    """The outcome of one call to a server with these answers."""

    async def once() -> Outcome:
        async with Server(*answers) as server:
            return await call(server, **options)

    return run(once())


# --- A call that goes well ------------------------------------------------------------------------


def test_a_reply_is_streamed() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    counted = Answer([*HELLO.reads[:2], event({"choices": [], "usage": usage}), finish()])
    sent = request()
    result = answered(counted, sent=sent)
    assert result.events[:-1] == (
        Began(),
        Piece("text_start", 0),
        Piece("text_delta", 0, "Hel"),
        Piece("text_delta", 0, "lo"),
        Piece("text_end", 0),
    )
    assert result.finish == Finish(
        stop_reason="stop",
        usage=Usage.of(input=9, output=2),
        response_id="r1",
        translation="openai-chat/1",
        wire_digest=blake2b(render(sent), digest_size=16).digest(),
    )


def test_the_request_is_what_was_rendered_and_goes_where_it_should() -> None:
    async def sent() -> Server:
        async with Server(HELLO) as server:
            await call(server, headers={"X-Team": "blue"}, options={"temperature": 0})
            return server

    (received,) = run(sent()).received
    assert (received.method, received.path) == ("POST", "/v1/chat/completions")
    assert received.body == render(request(), {"temperature": 0})
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["x-team"] == "blue"


def test_the_recorded_translation_renders_the_body_again() -> None:
    end = answered(HELLO, options={"temperature": 0.5}).finish
    body = render_by(end.translation, request())
    assert blake2b(body, digest_size=16).digest() == end.wire_digest
    assert json.loads(body)["temperature"] == 0.5


def test_without_a_key_no_authorization_is_sent() -> None:
    async def sent() -> Server:
        async with Server(HELLO) as server:
            await call(server, api_key=None)
            return server

    assert "authorization" not in run(sent()).received[0].headers


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sent() -> Server:
        async with Server(HELLO) as server:
            provider = OpenAIChat(trust_env=False)
            for key in ("one", "two"):
                monkeypatch.setenv("OPENAI_API_KEY", key)
                monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
                await outcome(provider)
            await provider.close()
            return server

    received = run(sent()).received
    assert [r.headers["authorization"] for r in received] == ["Bearer one", "Bearer two"]
    assert [r.path for r in received] == ["/v1/chat/completions"] * 2


def test_one_connection_serves_call_after_call() -> None:
    async def calls() -> Server:
        async with Server(HELLO) as server:
            provider = provider_of(server)
            for _ in range(3):
                assert (await outcome(provider)).text == "Hello"
            await provider.close()
            return server

    assert run(calls()).connections == 1


def test_a_kept_connection_that_the_server_closes_is_replaced() -> None:
    async def calls() -> tuple[list[str], Server]:
        closed = Answer(status=0, end="reset")
        async with Server(HELLO, closed, HELLO) as server:
            server.release.set()
            provider = provider_of(server)
            texts = [(await outcome(provider)).text for _ in range(2)]
            await provider.close()
            return texts, server

    texts, server = run(calls())
    assert texts == ["Hello", "Hello"]
    assert (server.connections, len(server.received)) == (2, 3)


def test_a_call_over_a_new_connection_is_not_sent_twice() -> None:
    async def sent() -> int:
        async with Server(Answer(status=0, end="reset")) as server:
            server.release.set()
            await call(server)
            return len(server.received)

    assert run(sent()) == 1


def test_many_calls_at_once() -> None:
    async def calls() -> list[str]:
        async with Server(HELLO, together=150) as server:
            provider = provider_of(server)
            results = await asyncio.gather(*(outcome(provider) for _ in range(150)))
            await provider.close()
            return [result.text for result in results]

    assert run(calls()) == ["Hello"] * 150


def test_two_event_loops_may_share_a_provider() -> None:
    provider = OpenAIChat(base_url="http://127.0.0.1:1/v1", api_key=KEY, trust_env=False)
    kinds = []

    def on_a_loop() -> None:
        async def once() -> None:
            kinds.append((await outcome(provider)).finish.error_kind)
            await provider.close()

        run(once())

    threads = [threading.Thread(target=on_a_loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds == ["network", "network"]


def test_a_closed_provider_can_be_used_again() -> None:
    async def calls() -> list[str]:
        async with Server(HELLO) as server:
            provider = provider_of(server)
            texts = []
            for _ in range(2):
                texts.append((await outcome(provider)).text)
                await provider.close()
            return texts

    assert run(calls()) == ["Hello", "Hello"]


def test_a_consumer_that_goes_away_closes_the_connection() -> None:
    async def goes() -> None:
        async with Server(Answer([chunk(content="a")], end="silence")) as server:
            provider = provider_of(server)
            stream = provider.stream(request(), AbortSignal())
            async for given in stream:
                if given == Piece("text_delta", 0, "a"):
                    break
            await stream.aclose()
            await server.left.wait()
            await provider.close()

    run(goes())


# --- Answers that are no stream -------------------------------------------------------------------


def test_a_whole_reply_in_one_json_body() -> None:
    message = {"role": "assistant", "content": "Hello"}
    body = {"id": "r1", "choices": [{"message": message, "finish_reason": "stop"}]}
    result = answered(Answer([json.dumps(body).encode()], content_type="application/json"))
    assert (result.text, result.finish.stop_reason) == ("Hello", "stop")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            Answer([b'{"error":{"message":"model not loaded"}}'], content_type="application/json"),
            "model not loaded",
        ),
        (
            Answer([b'error: {"message":"slot unavailable"}\n\ndata: [DONE]\n\n']),
            "slot unavailable",
        ),
        (Answer([b"<html><body>Log in</body></html>"], content_type="text/html"), "Log in"),
        (Answer([b"{"], content_type="application/json"), "not JSON"),
        (Answer([]), "ended the stream"),
    ],
    ids=["error object", "error field", "web page", "half a body", "nothing"],
)
def test_what_is_no_reply_is_an_error_in_the_servers_words(answer: Answer, told: str) -> None:
    result = answered(answer)
    assert result.finish.stop_reason == "error"
    assert told in (result.finish.error_message or "")
    assert not result.began


def test_a_stream_of_an_undeclared_type_is_read() -> None:
    assert answered(Answer(HELLO.reads, content_type="")).text == "Hello"


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "invalid_request"),
        (413, "context_overflow"),
        (429, "rate_limit"),
        (500, "overloaded"),
        (502, "overloaded"),
        (503, "overloaded"),
        (504, "timeout"),
        (529, "overloaded"),
    ],
)
def test_a_status_becomes_an_error_with_the_servers_words(status: int, kind: str) -> None:
    body = b'{"error":{"message":"It went wrong.","type":"odd"}}'
    result = answered(Answer([body], status=status, content_type="application/json"))
    end = result.finish
    assert (end.stop_reason, end.error_kind) == ("error", kind)
    assert f"openai: HTTP {status}: It went wrong." in (end.error_message or "")
    assert end.wire_digest
    assert not result.began


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "HTTP 500"),
        (b"upstream\n  fell over", "HTTP 500: upstream fell over"),
        (b'{"detail":"no"}', "HTTP 500: no"),
        (b"\xff\xfe", "HTTP 500: \ufffd\ufffd"),
        (b"x" * 10**6, "HTTP 500: xxx"),
    ],
)
def test_an_error_without_json_is_told_as_far_as_it_can_be(body: bytes, told: str) -> None:
    message = answered(Answer([body] if body else [], status=500)).finish.error_message or ""
    assert told in message
    assert len(message) < 600


def test_an_error_body_that_breaks_off_is_told_as_far_as_it_came() -> None:
    broken = Sending(b"over", httpx.ReadError("reset"), status=503)
    end = run(outcome(OpenAIChat(api_key=KEY, transport=broken))).finish
    assert (end.error_kind, end.error_message) == ("overloaded", "openai: HTTP 503: over")


class Endless(httpx.AsyncBaseTransport, httpx.AsyncByteStream):
    """A network whose answer never ends."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(500, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000
            await asyncio.sleep(0)


def test_an_endless_error_is_not_read_to_its_end() -> None:
    end = run(outcome(OpenAIChat(api_key=KEY, transport=Endless()))).finish
    assert end.error_kind == "overloaded"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("20", 20.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_the_time_to_wait_is_handed_on(given: str, seconds: float | None) -> None:
    answer = Answer([b"slow down"], status=429, headers={"Retry-After": given})
    assert answered(answer).finish.retry_after == seconds


def test_a_date_to_wait_for_is_handed_on_in_seconds() -> None:
    answer = Answer(status=503, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"})
    assert (answered(answer).finish.retry_after or 0) > 365 * 86400


def test_a_redirect_is_not_followed_with_the_key() -> None:
    answer = Answer(status=307, headers={"Location": "http://elsewhere.example/v1"})
    end = answered(answer).finish
    assert end.error_kind == "invalid_request"
    assert "http://elsewhere.example/v1" in (end.error_message or "")


def test_an_answer_of_which_the_body_is_not_wanted_is_closed() -> None:
    async def closed() -> None:
        answer = Answer([b"x"], status=307, end="silence")
        async with Server(answer) as server:
            provider = provider_of(server)
            await outcome(provider)
            await server.left.wait()
            await provider.close()

    run(closed())


def test_a_wrong_path_asks_whether_base_url_is_right() -> None:
    message = answered(Answer([b"not found"], status=404)).finish.error_message or ""
    assert "is base_url right?" in message


def test_an_error_in_mid_stream_keeps_what_was_said() -> None:
    failure = event({"error": {"code": 503, "message": "going down"}})
    result = answered(Answer([chunk(content="Half"), failure]))
    assert result.text == "Half"
    assert (result.finish.error_kind, result.finish.response_id) == ("overloaded", "r1")


def test_a_server_that_cannot_be_reached() -> None:
    with socket.socket() as taken:  # bound but not listening: nobody else gets the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        end = run(outcome(OpenAIChat(base_url=url, api_key=KEY, trust_env=False))).finish
    assert (end.stop_reason, end.error_kind) == ("error", "network")
    assert url in (end.error_message or "")
    assert "Is the server running?" in (end.error_message or "")


def test_a_server_that_never_answers() -> None:
    end = answered(Answer(status=0, end="silence"), timeout=0.5).finish
    assert end.error_kind == "timeout"
    assert "sent nothing for 0.5 s" in (end.error_message or "")


def test_a_server_that_falls_silent_in_mid_stream() -> None:
    result = answered(Answer([chunk(content="Half")], end="silence"), timeout=0.5)
    assert (result.text, result.finish.error_kind) == ("Half", "timeout")


def test_a_server_that_breaks_the_connection_before_it_answers() -> None:
    async def broken() -> Outcome:
        async with Server(Answer(status=0, end="reset")) as server:
            server.release.set()
            return await call(server)

    assert run(broken()).finish.error_kind == "network"


@pytest.mark.parametrize("rest", [b"", b'data: {"choi', finish()[:40]])
def test_a_connection_that_breaks_in_mid_reply_is_a_reply_cut_off(rest: bytes) -> None:
    async def broken() -> Outcome:
        reads = [chunk(content="Half"), *([rest] if rest else [])]
        async with Server(Answer(reads, end="reset")) as server:

            def on(given: StreamEvent) -> None:
                if given == Piece("text_delta", 0, "Half"):
                    server.release.set()

            return await call(server, on=on)

    result = run(broken())
    assert (result.text, result.finish.error_kind) == ("Half", "network")
    assert "cut off" in (result.finish.error_message or "")


def test_a_connection_that_breaks_behind_the_finish_reason_does_no_harm() -> None:
    last = finish().removesuffix(b"data: [DONE]\n\n")
    broken = Sending(chunk(content="All"), last, httpx.ReadError("reset"))
    result = run(outcome(OpenAIChat(api_key=KEY, transport=broken)))
    assert (result.text, result.finish.stop_reason) == ("All", "stop")


def test_a_server_that_does_not_end_its_response_after_done_does_not_hold_up_the_reply() -> None:
    result = answered(Answer(HELLO.reads, end="silence"))
    assert (result.text, result.finish.stop_reason) == ("Hello", "stop")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout(""), "timeout"),
        (httpx.WriteTimeout(""), "timeout"),
        (httpx.ConnectError("no route"), "network"),
        (httpx.WriteError(""), "network"),
        (httpx.RemoteProtocolError("nonsense"), "network"),
    ],
)
def test_failures_of_the_network(error: Exception, kind: str) -> None:
    provider = OpenAIChat(api_key=KEY, transport=Raising(error))
    assert run(outcome(provider)).finish.error_kind == kind


# --- Abort ----------------------------------------------------------------------------------------


def test_an_aborted_call_sends_nothing() -> None:
    async def aborted() -> tuple[Outcome, int]:
        async with Server(HELLO) as server:
            result = await call(server, signal=AbortSignal(aborted=True))
            return result, server.connections

    result, connections = run(aborted())
    assert (result.events, connections) == ((ABORTED,), 0)


@pytest.mark.parametrize("on_another_thread", [False, True])
def test_an_abort_in_mid_stream_reaches_the_server_and_keeps_what_was_said(
    on_another_thread: bool,
) -> None:
    async def aborted() -> Outcome:
        signal = AbortSignal()
        async with Server(Answer([chunk(content="Half")], end="silence")) as server:

            def on(given: StreamEvent) -> None:
                if given == Piece("text_delta", 0, "Half"):
                    set_it = threading.Thread(target=signal.set).start
                    (set_it if on_another_thread else signal.set)()

            result = await call(server, signal=signal, on=on)
            await server.left.wait()
            return result

    result = run(aborted())
    assert result.text == "Half"
    assert result.finish.stop_reason == "aborted"
    assert result.finish.error_kind == "aborted"
    assert result.finish.error_message == "aborted"
    assert result.finish.response_id == "r1"
    assert result.finish.wire_digest


def test_an_abort_before_the_answer_reaches_the_server() -> None:
    async def aborted() -> Outcome:
        signal = AbortSignal()
        async with Server(Answer(status=0, end="silence")) as server:
            calling = asyncio.create_task(call(server, signal=signal))
            await server.asked.wait()
            signal.set()
            result = await calling
            await server.left.wait()
            return result

    assert run(aborted()).finish.stop_reason == "aborted"


def test_an_abort_ends_the_wait_for_a_key() -> None:
    async def aborted() -> Outcome:
        signal = AbortSignal()

        async def key() -> str:
            signal.set()
            await asyncio.Event().wait()
            return KEY

        return await outcome(OpenAIChat(api_key=key), signal=signal)

    assert run(aborted()).finish.stop_reason == "aborted"


def test_an_abort_between_events_that_came_together_ends_the_reply_there() -> None:
    signal = AbortSignal()

    def on(given: StreamEvent) -> None:
        if given == Piece("text_delta", 0, "Hel"):
            signal.set()

    result = answered(Answer([b"".join(HELLO.reads)]), signal=signal, on=on)
    assert (result.text, result.finish.stop_reason) == ("Hel", "aborted")


def test_the_provider_goes_on_after_an_abort() -> None:
    async def calls() -> list[str]:
        signal = AbortSignal()
        half = Answer([chunk(content="Half")], end="silence")
        async with Server(half, HELLO) as server:
            provider = provider_of(server)
            first = await outcome(
                provider,
                signal=signal,
                on=lambda given: signal.set() if isinstance(given, Piece) and given.text else None,
            )
            second = await outcome(provider)
            await provider.close()
            return [first.finish.stop_reason, second.finish.stop_reason]

    assert run(calls()) == ["aborted", "stop"]


def test_closing_the_provider_ends_calls_under_way() -> None:
    async def closed() -> Outcome:
        async with Server(Answer([chunk(content="Half")], end="silence")) as server:
            provider = provider_of(server)
            said = asyncio.Event()

            def on(given: StreamEvent) -> None:
                if given == Piece("text_delta", 0, "Half"):
                    said.set()

            calling = asyncio.create_task(outcome(provider, on=on))
            await said.wait()
            await provider.close()
            result = await calling
            await server.left.wait()
            return result

    assert run(closed()).finish.stop_reason == "error"


# --- The key stays secret -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        Answer([f'{{"error":{{"message":"bad key: {KEY}"}}}}'.encode()], status=401),
        Answer([f"you sent Bearer {KEY}".encode()], status=400),
        Answer([f"<html>{KEY}</html>".encode()], content_type="text/html"),
        Answer([event({"error": {"message": f"no such key: {KEY}"}})]),
        Answer([f"data: {KEY}\n\n".encode()]),
        Answer([finish(KEY)]),
        Answer(status=302, headers={"Location": f"http://elsewhere.example/?key={KEY}"}),
    ],
)
def test_a_key_that_the_server_echoes_is_taken_out(answer: Answer) -> None:
    result = answered(answer)
    assert result.finish.stop_reason == "error"
    assert "***" in (result.finish.error_message or "")
    assert KEY not in repr(result)


def test_our_request_is_logged_nowhere_with_its_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answered(HELLO, headers={"X-Api-Key": "other-secret"})
    assert caplog.records
    logged = " ".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert KEY not in logged
    assert "other-secret" not in logged


def test_a_header_that_holds_a_secret_is_taken_out() -> None:
    answer = Answer([b"bad: other-secret"], status=401)
    message = answered(answer, headers={"X-Api-Key": "other-secret"}).finish.error_message or ""
    assert "other-secret" not in message


def test_the_provider_does_not_show_its_key() -> None:
    provider = OpenAIChat(api_key=KEY, headers={"X-Api-Key": "other-secret"})
    assert "secret" not in f"{provider!r} {provider}"


def test_a_refused_key_says_where_to_set_another() -> None:
    answer = Answer([b'{"error":"no"}'], status=401)
    assert "$MY_KEY" in (answered(answer, api_key="$MY_KEY").finish.error_message or "")


# --- What can be known before the call ------------------------------------------------------------


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidArgumentError, match=r"openai/gpt-x needs an API key. Set \$OPENAI"):
        OpenAIChat().check("gpt-x")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    OpenAIChat().check("gpt-x")


def test_another_server_may_want_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    OpenAIChat(base_url="http://127.0.0.1:1/v1").check("m")


def test_a_model_must_be_named() -> None:
    with pytest.raises(InvalidArgumentError, match="mine/MODEL"):
        OpenAIChat("mine", "http://127.0.0.1:1/v1").check(" ")


def test_a_bad_address_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "api.example.com")
    with pytest.raises(InvalidArgumentError, match=r"api\.example\.com"):
        OpenAIChat().check("m")


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "a/b"},
        {"name": " a"},
        {"base_url": "api.example.com/v1"},
        {"base_url": "ftp://example.com"},
        {"base_url": "http://"},
        {"base_url": "http://user:pass@example.com/v1"},
        {"base_url": "http://example.com/v1?key=1"},
        {"timeout": 0},
        {"options": {"model": "x"}},
        {"options": {"f": object()}},
    ],
)
def test_arguments_that_cannot_be_used_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        OpenAIChat(**fields)
    assert "pass" not in str(refused.value)
