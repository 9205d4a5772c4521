"""Random runs of the machine: any outcome, any command, at any moment between any two events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import get_args

from hypothesis import strategies as st

from refold.events.agent import effects, inputs
from refold.events.agent.agent import AGENT
from refold.events.agent.bodies import ContextEdit, ResultPatch, Verdict
from refold.events.agent.heads import CallHead
from refold.events.agent.messages import Text
from refold.events.agent.settings import HookName, ToolHead
from refold.events.behaviour import Effect
from refold.events.canonical import Json
from refold.events.errors import CallerError
from refold.events.fact import Offer
from tests.support import inputs as make
from tests.support.machine import Machine

TOOLS = (
    ToolHead(name="plain"),
    ToolHead(name="safe", replay="safe"),
    ToolHead(name="alone", sequential=True),
    ToolHead(name="prepared", prepares=True),
)
HOOKS: tuple[HookName, ...] = get_args(HookName)
REPLIES: tuple[tuple[str, ...], ...] = (
    (),
    ("plain",),
    ("plain", "safe", "plain"),
    ("safe", "alone"),
    ("prepared", "plain"),
    ("nobody", "plain"),
    ("misfit", "safe"),
)
"""The tools that replies call; `nobody` does not exist, and `misfit` has arguments that do not fit.
"""

choices = st.lists(st.integers(0, 2**16), min_size=60, max_size=200)
"""One number for each thing that happens; zeros are the quietest run there is."""

Action = Callable[[], object]


def wander(machine: Machine, chosen: Iterable[int]) -> Iterator[Machine]:
    """Let one thing after another happen to the machine; yields after each."""
    for choice in chosen:
        possible = list(_possible(machine))
        possible[choice % len(possible)]()
        yield machine


def finish(machine: Machine) -> None:
    """Let the machine come to rest by the shortest way; a machine that does not is broken."""
    for _ in range(10_000):
        if machine.step() is not None:
            continue
        if machine.rests:
            return
        owed = AGENT.outstanding(machine.state)
        assert owed, f"nothing is owed in phase {machine.state.phase}, and nothing happens"
        machine.accept(next(_outcomes(machine, owed[0])))
    raise AssertionError("the run does not end")


def _possible(machine: Machine) -> Iterator[Action]:
    """What can happen now. Small numbers are the quiet things, so that failures shrink to them."""
    if AGENT.step(machine.state) is not None:
        yield from [machine.step] * 60
    for effect in AGENT.outstanding(machine.state):
        for offer in _outcomes(machine, effect):
            yield from [partial(machine.accept, offer)] * 5
    yield from (partial(_command, machine, offer) for offer in _commands(machine))


def _command(machine: Machine, offer: Offer) -> None:
    with suppress(CallerError):  # refused: nothing happened
        machine.accept(offer)


def _commands(machine: Machine) -> Iterator[Offer]:
    yield from [make.prompted("prompt")] * 4
    yield make.queued("steering", "steer")
    yield make.queued("follow_up", "first", "second")
    yield make.queued("next_turn", "with the next prompt")
    yield make.queued("steering", "at once", now=True)
    yield Offer(inputs.AbortRequested())
    yield from (Offer(inputs.Cancelled(item=item.id)) for item in machine.state.waiting[:1])
    yield Offer(inputs.Continued())
    yield Offer(inputs.Cleared(queues=("steering",)))
    yield Offer(inputs.Recovered())
    yield make.listener_failed()
    yield Offer(inputs.ResetRequested())
    yield make.replaced(make.SHAPE, messages=(make.user("as it was"),))
    yield Offer(inputs.Renamed(name="another"))
    yield make.settings(hooks=HOOKS)
    yield make.settings(hooks=())
    yield make.settings(tools=TOOLS)
    yield make.settings(steering_mode="all", follow_up_mode="all")
    yield make.settings(tool_execution="sequential")
    yield make.settings(idle_queue="hold")
    yield make.settings(queue_limit=2)
    yield make.settings(max_retries=1)
    yield make.returned_late(machine.state.tool_runs)
    yield make.settings(idle_queue="run", tool_execution="parallel")


def _outcomes(machine: Machine, effect: Effect) -> Iterator[Offer]:
    match effect:
        case effects.CallModel():
            yield from _replies(machine, effect.call)
        case effects.RunTool():
            yield make.returned(effect.call)
            yield make.progressed(effect.call)
            yield make.returned(effect.call, terminate=True)
            yield make.tool_failed(effect.call)
        case effects.Wait():
            yield make.retry_due(effect.call)
        case effects.CallHook():
            yield from _answers(effect)


def _replies(machine: Machine, call: int) -> Iterator[Offer]:
    stream = machine.state.active.stream
    assert stream is not None
    yield make.finished(call, "well")
    yield make.delta(call, "more ", start=not (stream.shown or stream.arrived))
    if not stream.began:
        yield make.began(call)
    for names in REPLIES[1:]:
        heads = (CallHead(f"id{i}", name, name == "misfit") for i, name in enumerate(names))
        yield make.finished(call, "tools", *heads)
    cut_off = CallHead("id", "plain")
    yield make.finished(call, "too lo", cut_off, stop_reason="length")
    yield make.finished(call, "so far", stop_reason="aborted", error="aborted")
    yield make.finished(call, "so far", stop_reason="interrupted")
    yield make.finished(call, stop_reason="error", error="refused")
    yield make.finished(call, stop_reason="error", error="busy", kind="overloaded")
    yield make.model_failed(call)
    yield make.model_failed(call, "network")


def _answers(effect: effects.CallHook) -> Iterator[Offer]:
    answer = partial(make.hook_returned, effect.call)
    patch = Verdict(arguments=Json("{}"))
    match effect.hook:
        case "transform_context":
            yield answer()
            yield answer(ContextEdit(((0, 1), make.user("put in"))), patched=True)
        case "before_tool_call":
            yield answer()
            yield answer(Verdict(text="no"), block=True)
            yield answer(patch, patched=True)
        case "after_tool_call":
            yield answer()
            yield answer(ResultPatch(content=(Text("else"),)), patched=True)
            yield answer(ResultPatch(), is_error=True, terminate=True)
        case "prepare_next_turn":
            yield answer()
            yield answer((), next_turn=inputs.NextTurn(model="test/other"))
            context = ((0, 1), make.SHAPE)
            yield answer((make.user("edited"),), next_turn=inputs.NextTurn(context=context))
        case "get_steering_messages" | "get_follow_up_messages":
            yield answer()
            yield answer((make.user("from a hook"),), shapes=(make.SHAPE,))
        case "should_stop_after_turn":
            yield answer()
            yield answer(stop=True)
        case _:  # a tool's own
            yield answer(patch, patched=True)
            yield answer(Verdict(text="unfit"), problem=True)
    yield make.hook_raised(effect.call)
