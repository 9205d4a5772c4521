"""Writes the golden log of the present format: `python -m tests.golden.make NAME`.

Run it once for each format that is released, and never again for the same name: the files are
promises. `NAME/data.mdb` is the log; `NAME/states.json` what its states were when it was written.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import lmdb

import refold
from refold import Block, Options, Reply, Runtime, ToolContext
from tests.golden.states import states_of
from tests.support.models import Model, call, calls

HERE = Path(__file__).parent


@refold.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@refold.tool
async def look(context: ToolContext, place: str) -> str:
    """Look at a place."""
    await context.update("looking")
    return f"{place}: " + "nothing there. " * 100  # long enough to stand outside its record


@refold.tool
def fail() -> str:
    """Fail."""
    raise ValueError("this tool fails")


def write(path: Path) -> None:
    """A log with all that a session can hold so far."""
    hold = threading.Event()
    model = Model(
        calls(
            call("add", "c1", a=2, b="3"),
            call("look", "c2", place="here"),
            call("fail", "c3"),
            call("nope", "c4"),
            call("add", "c5", a="x"),
            call("look", "c6", place="there"),
            text="I shall look.",
        ),
        Reply("Five.", chunks=["Fi", "ve."], usage={"input": 12, "output": 2}),
        "Brief.",
        Reply("part and more", chunks=["part ", "and more"], gates={"b0.d1": hold}),
        Reply("", error_message="overloaded", error_kind="overloaded", retry_after=0),
        Reply(raises="a provider with a bug"),
        Reply([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Again."}]),
    )
    options = Options(delta_interval=0)
    with refold.open(path, providers=[model], options=options) as runtime:
        _sums(runtime)
        _aborted(runtime, hold)
        _retried(runtime)


def _sums(runtime: Runtime) -> None:
    session = runtime.session(
        "sums",
        model="test/model",
        tools=[add, look, fail],
        system_prompt="You are terse.",
        hooks={
            "before_tool_call": lambda given: (
                Block("not there") if given.arguments.get("place") == "there" else None
            )
        },
    )
    session.next_turn("By the way.")
    session.replace_messages([refold.UserMessage(content=(refold.Text("earlier"),))])
    run = session.prompt("What is 2 + 3?", images=[refold.Image("image/png", b"not a picture")])
    session.follow_up("Be brief.")
    run.result()
    session.wait()
    session.cancel(session.next_turn("never mind"))


def _aborted(runtime: Runtime, hold: threading.Event) -> None:
    session = runtime.session("aborted", model="test/model")
    run = session.prompt("Go on.")
    for event in run:
        if isinstance(event, refold.MessageUpdate) and event.delta == "part ":
            session.abort()
            hold.set()


def _retried(runtime: Runtime) -> None:
    session = runtime.session("retried", model="test/model", thinking_level="low", retry_delay=1)
    session.prompt("Think.").result()
    session.set(idle_queue="hold")
    session.steer("Never mind.")
    session.clear()
    session.follow_up("Think again.")
    session.continue_().result()
    session.reset()


def main() -> None:
    """Write the log of the name that is given."""
    target = HERE / sys.argv[1]
    target.mkdir()  # an existing one is a promise already
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        write(path)
        environment: Any = lmdb.open(str(path), max_dbs=16, readonly=True)
        environment.copy(str(target), compact=True)
        environment.close()
        with refold.read(path) as archive:
            states = states_of(archive)
    text = json.dumps(states, indent=1, ensure_ascii=False)
    (target / "states.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
