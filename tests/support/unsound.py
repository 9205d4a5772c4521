"""Tests that must fail, and only because of the fixture that watches over all sessions.

They are collected only where they are named: `tests/test_soundness.py` runs them.
"""

from __future__ import annotations

import refold
from refold.actors.loop import Loop
from refold.events.agent import facts, inputs
from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.decide import decide
from refold.store import ANY, MemoryLog
from tests.support.models import MODEL, Model


def test_an_event_that_nobody_decided() -> None:
    log = MemoryLog()
    with refold.open(log, providers=[Model("hello")]) as runtime:
        session = runtime.session("wrong", model=MODEL)
        session.prompt("hi").result()
        log.append(session.stream, ANY, [CODEC.encode(facts.TurnEnd())], time=0)


def test_a_decision_that_depends_on_more_than_state_and_input(monkeypatch) -> None:
    seen = []

    def impure(state, offered):
        if isinstance(offered, inputs.Queued):
            seen.append(offered)
            if len(seen) > 1:
                return ()
        return decide(state, offered)

    monkeypatch.setattr(type(AGENT), "decide", staticmethod(impure))
    with refold.open(None, providers=[Model("hello")]) as runtime:
        session = runtime.session("impure", model=MODEL, idle_queue="hold")
        session.steer("first")


def test_effects_under_way_that_no_state_owes(monkeypatch) -> None:
    start = Loop._start

    def forgetful(loop, hosted, effects):
        start(loop, hosted, effects)
        hosted.running.clear()

    monkeypatch.setattr(Loop, "_start", forgetful)
    with refold.open(None, providers=[Model("hello")]) as runtime:
        runtime.session("owing", model=MODEL).prompt("hi").result()


def test_a_session_in_which_all_is_well() -> None:
    with refold.open(None, providers=[Model("hello")]) as runtime:
        assert runtime.session("well", model=MODEL).prompt("hi").result().text == "hello"
