"""A program that works until it is killed: `python -m tests.crash.child LOG SCENE`.

It says what it knows as JSON, a line each: what was acknowledged, and what a watcher was shown.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import refold
from refold import (
    MessageUpdate,
    Options,
    Reply,
    Request,
    Runtime,
    Scripted,
    ToolContext,
    ToolExecutionEnd,
)
from tests.support.models import call, calls

NEVER = threading.Event()
HANGS = threading.Event()


def say(what: str, **more: Any) -> None:
    """Tell the parent; a line is there at once and whole, or not at all."""
    os.write(sys.stdout.fileno(), (json.dumps({"what": what, **more}) + "\n").encode())


@refold.tool
def quick() -> str:
    """End at once."""
    return "quick is done"


@refold.tool
def once(context: ToolContext) -> str:
    """Begin, and never end."""
    say("running", tool="once", key=context.idempotency_key)
    NEVER.wait()
    return "once is done"


@refold.tool(replay="safe")
def again(context: ToolContext) -> str:
    """Begin, and never end; may be begun again."""
    say("running", tool="again", key=context.idempotency_key)
    NEVER.wait()
    return "again is done"


def follow(run: refold.Run) -> None:
    """Watch a run, and say what it shows."""
    for event in run:
        if isinstance(event, MessageUpdate):
            say("shown", version=event.version, text=event.message.text)
            if event.message.text == "one two ":
                HANGS.set()
        elif isinstance(event, ToolExecutionEnd):
            say("ended", tool=event.tool_name)


def in_stream(runtime: Runtime) -> None:
    """A reply hangs in the middle; meanwhile messages are queued."""
    session = runtime.session("s", model="test/m", tools=[quick])
    run = session.prompt("go")
    say("accepted", text="go")
    threading.Thread(target=follow, args=(run,), daemon=True).start()
    HANGS.wait()
    session.steer("be brief")
    say("accepted", text="be brief")
    session.follow_up("and then?")
    say("accepted", text="and then?")


def in_tools(runtime: Runtime) -> None:
    """Two tools hang, one has ended."""
    session = runtime.session("s", model="test/m", tools=[quick, once, again])
    run = session.prompt("go")
    say("accepted", text="go")
    threading.Thread(target=follow, args=(run,), daemon=True).start()


def at_rest(runtime: Runtime) -> None:
    """Messages are queued while the session rests."""
    session = runtime.session("s", model="test/m", idle_queue="hold")
    session.prompt("go").result()
    session.steer("first")
    session.follow_up("second")
    say("accepted", text="first")
    say("accepted", text="second")


def in_a_hurry(runtime: Runtime) -> None:
    """Say and hear as much as there is time for."""
    session = runtime.session("s", model="test/m", tools=[quick])
    for number in range(1_000_000):
        run = session.prompt(f"prompt {number}")
        say("accepted", text=f"prompt {number}")
        for event in run:
            if isinstance(event, MessageUpdate):
                say("shown", version=event.version, text=event.message.text)
                text = f"follow-up {event.version}"
                session.follow_up(text)
                say("accepted", text=text)
                break
        session.wait()


def hurried(request: Request) -> Any:
    """Calls tools now and then, and streams the rest."""
    if request.call % 3:
        return Reply(f"answer {request.call}", chunks=4)
    return calls(call("quick"), call("quick"), text="let me see", chunks=3)


STREAM = Reply(
    "one two three", chunks=["one ", "two ", "three"], gates={"b0.d2": NEVER}, usage={"input": 3}
)
TOOLS = calls(call("quick", "c1"), call("once", "c2"), call("again", "c3"), text="I call three.")
SCENES: dict[str, tuple[Callable[[Runtime], None], Any]] = {
    "in_stream": (in_stream, [calls(call("quick", "c0"), text="First a tool."), STREAM]),
    "in_tools": (in_tools, [TOOLS]),
    "at_rest": (at_rest, ["hello"]),
    "in_a_hurry": (in_a_hurry, hurried),
}


def main() -> None:
    """Play a scene, and wait for the end."""
    path, scene = sys.argv[1:]
    play, replies = SCENES[scene]
    runtime = refold.open(
        path, providers=[Scripted(replies, name="test")], options=Options(delta_interval=0)
    )
    play(runtime)
    say("played")
    NEVER.wait()


if __name__ == "__main__":
    main()
