"""The agent of the demo: plans a trip with two tools, and is killed in the middle of a sentence.

    python trip.py LOG begin      from the first prompt on
    python trip.py LOG go-on      what a new process does after a crash: it opens the session

Its model is scripted, so that it calls its tools each time, and streams slowly enough to be killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import refold

PLAN = (
    "Take the ", "7:05 to ", "Lisbon: ", "it is ", "sunny ", "there, ", "you need ", "not change, ",
    "and you ", "arrive ", "for lunch.",
)  # fmt: skip
CALLS = [
    {"type": "text", "text": "I look at the weather and the trains."},
    {"type": "tool_call", "name": "weather", "arguments": {"city": "Lisbon"}},
    {"type": "tool_call", "name": "trains", "arguments": {"to": "Lisbon"}},
]
ANSWER = refold.Reply("".join(PLAN), chunks=PLAN, delay=0.15)


@refold.tool
def weather(city: str) -> str:
    """The weather in a city."""
    time.sleep(0.6)
    return f"{city}: sunny, 24 degrees"


@refold.tool
def trains(to: str) -> list[str]:
    """The next trains to a city."""
    time.sleep(0.3)
    return [f"7:05 to {to}, direct", f"9:30 to {to}, one change"]


def show(events: Iterable[refold.LifecycleEvent]) -> None:
    """Print a run as it happens, to its end."""
    for event in events:
        match event:
            case refold.AgentEnd():
                return
            case refold.MessageUpdate():
                print(event.delta, end="", flush=True)
            case refold.MessageEnd(message=refold.AssistantMessage()):
                print(flush=True)
            case refold.MessageEnd(message=refold.UserMessage() as message):
                print(f"  you say: {message.text}", flush=True)
            case refold.ToolExecutionStart():
                print(f"  {event.tool_name} begins", flush=True)
            case refold.ToolExecutionEnd():
                print(f"  {event.tool_name} ends: {event.result.text}", flush=True)


def main(log: str, what: str) -> None:
    """Begin the run, or go on with it."""
    begins = what == "begin"
    # A new process knows nothing of the old one's script: it has what is still to be said.
    script = [refold.Reply(CALLS), ANSWER] if begins else [ANSWER]
    seen = 0 if begins else events_of_trip(log)
    with refold.open(log, providers=[refold.Scripted(script)]) as runtime:
        session = runtime.session(
            "trip", model="scripted", tools=[weather, trains], system_prompt="You plan trips."
        )
        if begins:
            run = session.prompt("How do I get to Lisbon tomorrow?")
            session.steer("I hate changing trains.")  # heard before the next call of the model
            show(run)
        else:  # the run goes on by itself
            show(session.watch(after=seen))
            session.wait()


def events_of_trip(log: str) -> int:
    """How many events the session has."""
    with refold.read(log) as archive:
        return archive.session("trip").version


if __name__ == "__main__":
    main(*sys.argv[1:])
