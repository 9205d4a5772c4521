"""The fold within a run: its beginning, its messages, its turns, and how it fails."""

from __future__ import annotations

from msgspec.structs import replace

from refold.events.agent import facts, inputs
from refold.events.agent.batch import begin_batch
from refold.events.agent.evolve_calls import message_ended, message_started, result_head
from refold.events.agent.heads import MessageHead, heads_of
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import ErrorKind
from refold.events.agent.state import Item, Phase, Retry, Run, SessionState
from refold.events.vector import Vector


def begin_run(
    state: SessionState,
    inject: tuple[MessageHead, ...] = (),
    take: QueueName | None = None,
    prompted: bool = False,
) -> SessionState:
    """A run with its own copies of settings and conversation is about to start."""
    settings = state.settings
    run = Run(
        number=state.runs + 1,
        model=settings.model,
        thinking_level=settings.thinking_level,
        system_prompt=settings.system_prompt,
        tools=settings.tools,
        context=state.messages,
        inject=inject,
        take=take,
        prompted=prompted,
    )
    return replace(state, run=run, runs=run.number, phase=Phase.START, error=None)


def message_start(state: SessionState, _: facts.MessageStart) -> SessionState:
    """The message of the present phase becomes visible."""
    run = state.active
    if state.phase is Phase.BATCH:
        return message_started(state)
    if state.phase is not Phase.STREAM:
        head = run.inject[run.injected]
        return replace(state, run=replace(run, open=True), shown=head)
    stream = run.stream
    assert stream is not None
    if stream.finished and not stream.began:
        shown = stream.finished
    else:
        shown = MessageHead(role="assistant", source=stream.since, since=stream.since)
    return replace(state, run=replace(run, stream=replace(stream, open=True)), shown=shown)


def message_update(state: SessionState, _: facts.MessageUpdate) -> SessionState:
    """What arrived of the stream is visible."""
    run = state.active
    stream = run.stream
    assert stream is not None
    shown = MessageHead(role="assistant", source=stream.arrived, since=stream.since)
    stream = replace(stream, shown=stream.arrived, arrived=0)
    return replace(state, run=replace(run, stream=stream), shown=shown)


def message_end(state: SessionState, _: facts.MessageEnd) -> SessionState:
    """The visible message joins the conversation and the run's own context."""
    run = state.active
    head = _open_message(run, state.phase)
    run = replace(run, context=run.context.append(head), new=run.new.append(head))
    state = replace(
        state,
        messages=state.messages.append(head),
        customs=state.customs or head.role == "custom",
        shown=None,
    )
    if state.phase is Phase.BATCH:
        return replace(state, run=message_ended(run, head))
    if state.phase is Phase.STREAM:
        return _replied(state, run, head)
    return replace(state, run=replace(run, open=False, injected=run.injected + 1))


def _open_message(run: Run, phase: Phase) -> MessageHead:
    """The message that is being shown. (A reset in mid-message empties `state.shown`.)"""
    if phase is Phase.STREAM:
        assert run.stream is not None
        assert run.stream.finished is not None
        return run.stream.finished
    if phase is Phase.BATCH:
        assert run.batch is not None
        assert run.reply is not None
        index = run.batch.open
        return result_head(run.reply, index, run.batch.calls[index])
    return run.inject[run.injected]


def _replied(state: SessionState, run: Run, reply: MessageHead) -> SessionState:
    run = replace(run, stream=None, reply=reply)
    if not reply.calls or reply.stop_reason in ("error", "aborted", "interrupted"):
        return replace(state, run=run, phase=Phase.TURN_END)
    sequential = state.settings.tool_execution == "sequential"
    run = replace(run, batch=begin_batch(run, reply, sequential))
    return replace(state, run=run, phase=Phase.BATCH)


def model_finished(state: SessionState, fact: inputs.ModelFinished) -> SessionState:
    """The final message is there; it is shown by the steps that follow."""
    if fact.stop_reason == "error" and (waiting := retried(state, fact.kind, fact.retry_after)):
        return waiting
    run = state.active
    assert run.stream is not None
    head = MessageHead(
        role="assistant",
        source=state.version,
        since=0 if fact.whole else run.stream.since,
        size=fact.size,
        stop_reason=fact.stop_reason,
        calls=fact.calls,
    )
    return replace(state, run=replace(run, stream=replace(run.stream, finished=head)))


RETRIED = frozenset({"rate_limit", "overloaded", "network", "timeout"})
"""Kinds of error that may pass by themselves."""

LONGEST_DELAY = 60_000
"""ms; back-off doubles up to here."""

LONGEST_ASKED = 600_000
"""ms; a provider that asks for more is not waited for: the run ends with its error."""


def retried(
    state: SessionState, kind: ErrorKind | None, retry_after: int | None
) -> SessionState | None:
    """The state in which the model call waits to be made again; None if it is not to be."""
    run, settings = state.active, state.settings
    assert run.stream is not None
    if kind not in RETRIED or run.aborted or run.attempts >= settings.max_retries:
        return None
    if retry_after is not None and retry_after > LONGEST_ASKED:
        return None
    delay = min(settings.retry_delay * 2**run.attempts, LONGEST_DELAY)
    retry = Retry(
        call=run.stream.call,
        attempt=run.attempts + 1,
        delay=delay if retry_after is None else retry_after,
    )
    run = replace(run, stream=None, retry=retry)
    return replace(state, run=run, phase=Phase.RETRY, shown=None)


def turn_end(state: SessionState, _: facts.TurnEnd) -> SessionState:
    """A failed or aborted turn ends its run; after another one the hooks are asked, then queues."""
    run = state.active
    if state.phase is Phase.FAILING:
        assert run.reply is not None
        return replace(state, error=run.reply, phase=Phase.AGENT_END)
    reply = run.reply
    if reply and reply.stop_reason in ("error", "aborted"):
        run = replace(run, rest=run.rest or state.version)
        return replace(state, run=run, error=reply, phase=Phase.AGENT_END)
    return replace(state, phase=_asks(state, Phase.PREPARE_NEXT))


def _asks(state: SessionState, first: Phase) -> Phase:
    """The next phase after a turn, from `first` on: hooks that are not there are passed over."""
    hooks = state.settings.hooks
    if first is Phase.PREPARE_NEXT and "prepare_next_turn" in hooks:
        return Phase.PREPARE_NEXT
    return Phase.SHOULD_STOP if "should_stop_after_turn" in hooks else Phase.POLL


def next_turn(state: SessionState, fact: inputs.HookReturned) -> SessionState:
    """What a hook wants after a turn."""
    run = state.active
    if state.phase is Phase.SHOULD_STOP:
        if fact.stop:
            return replace(state, run=replace(run, rest=state.version), phase=Phase.AGENT_END)
        return replace(state, phase=Phase.POLL)
    wanted = fact.next_turn
    if wanted is not None:
        run = replace(
            run,
            model=wanted.model if wanted.model is not None else run.model,
            thinking_level=wanted.thinking_level or run.thinking_level,
            system_prompt=(
                run.system_prompt if wanted.system_prompt is None else wanted.system_prompt
            ),
            tools=wanted.tools or run.tools,
            context=_edited(run, wanted, state.version),
        )
    return replace(state, run=run, phase=_asks(state, Phase.SHOULD_STOP))


def _edited(run: Run, wanted: inputs.NextTurn, source: int) -> Vector[MessageHead]:
    if wanted.context is None:
        return run.context
    put = iter(heads_of(tuple(p for p in wanted.context if not isinstance(p, tuple)), source))
    context: Vector[MessageHead] = Vector()
    for part in wanted.context:
        if isinstance(part, tuple):
            context = context.extend(run.context.between(*part))
        else:
            context = context.append(next(put))
    return context


def fail(state: SessionState) -> SessionState:
    """The run ends around a message that says why; what was open in it is dropped, and queued
    messages that were on their way into the conversation wait again.
    """
    state = _put_back(state)
    run = state.active
    failure = MessageHead(
        role="assistant",
        source=state.version,
        stop_reason="aborted" if run.aborted else "error",
    )
    run = replace(
        run,
        failed=True,
        inject=(failure,),
        injected=0,
        open=False,
        drained=(),
        take=None,
        new=Vector(),
        stream=None,
        retry=None,
        batch=None,
        hook=0,
        reply=failure,
        results=(),
        rest=run.rest or state.version,
    )
    return replace(state, run=run, phase=Phase.FAILING)


def _put_back(state: SessionState) -> SessionState:
    run = state.active
    back: dict[QueueName, tuple[Item, ...]] = {"steering": (), "follow_up": (), "next_turn": ()}
    for queue, item, place in run.drained:
        left = item.heads[max(0, run.injected - place) :]
        if left:
            back[queue] += (replace(item, heads=left),)
    return replace(
        state,
        steering=back["steering"] + state.steering,
        follow_up=back["follow_up"] + state.follow_up,
        next_turn=back["next_turn"] + state.next_turn,
    )
