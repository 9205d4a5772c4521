"""The fold of the queues: what waits, and how it goes into the conversation."""

from __future__ import annotations

from msgspec.structs import replace

from refold.events.agent import facts, inputs
from refold.events.agent.evolve_turn import begin_run
from refold.events.agent.heads import heads_of
from refold.events.agent.inputs import QueueName
from refold.events.agent.state import Item, Phase, SessionState


def queued(state: SessionState, fact: inputs.Queued) -> SessionState:
    """A message waits; a session that rests may start a run with it."""
    item = Item(state.version, heads_of(fact.shapes, state.version))
    waiting = state.queue(fact.queue)
    state = _with_queue(state, fact.queue, (item, *waiting) if fact.now else (*waiting, item))
    starts = state.settings.idle_queue == "run" and fact.queue != "next_turn"
    if state.phase is Phase.IDLE and starts:
        return begin_run(state, take=fact.queue)
    return state


def cancelled(state: SessionState, fact: inputs.Cancelled) -> SessionState:
    """A message does not wait any more."""
    return replace(
        state,
        steering=tuple(item for item in state.steering if item.id != fact.item),
        follow_up=tuple(item for item in state.follow_up if item.id != fact.item),
        next_turn=tuple(item for item in state.next_turn if item.id != fact.item),
    )


def cleared(state: SessionState, fact: inputs.Cleared) -> SessionState:
    """Queues are empty."""
    for queue in fact.queues:
        state = _with_queue(state, queue, ())
    return state


def drained(state: SessionState, fact: facts.Drained) -> SessionState:
    """Messages are on their way into the conversation, and still known as queued ones."""
    run = state.active
    taken = [item for item in state.queue(fact.queue) if item.id in fact.items]
    left = tuple(item for item in state.queue(fact.queue) if item.id not in fact.items)
    heads = tuple(head for item in taken for head in item.heads)
    polled = run.polled or fact.queue == "steering"
    start = len(run.inject)
    if fact.queue == "next_turn":  # it goes before the prompt that it is said with
        start = sum(len(item.heads) for queue, item, _ in run.drained if queue == "next_turn")
    inject = (*run.inject[:start], *heads, *run.inject[start:])
    on_the_way = list(run.drained)
    for item in taken:
        on_the_way.append((fact.queue, item, start))
        start += len(item.heads)
    run = replace(run, inject=inject, drained=tuple(on_the_way), take=None, polled=polled)
    phase = Phase.TURN if state.phase is Phase.POLL else state.phase
    return replace(_with_queue(state, fact.queue, left), run=run, phase=phase)


def _with_queue(state: SessionState, name: QueueName, items: tuple[Item, ...]) -> SessionState:
    return replace(state, **{name: items})
