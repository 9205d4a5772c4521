"""The table of phases: what the machine waits for, and what it does next by itself.

A phase with outcomes in its row waits for the outside; the others pass by themselves, one event at
a time (`agent.loop.step`). Whatever comes to a phase that does not list it is over, and ignored.

    phase          waits for                                 goes on with
    -------------  ----------------------------------------  ---------------------------------------
    idle           prompted, continued, queued               -
    start          -                                         drained, agent_start
    turn           -                                         turn_start
    inject         hook outcome                              message_start, message_end, drained,
                                                             hook_called or context_built
    transform      hook outcome                              -
    context        -                                         context_built
    call           -                                         model_called
    stream         model_delta, _finished, _failed           message_start, message_update,
                                                             message_end
    retry          retry_due                                 retry_scheduled
    batch          tool_progressed, _returned, _failed,      tool_execution_*, tools_called,
                   hook outcomes                             hook_called, message_start,
                                                             message_end, turn_end
    turn_end       -                                         turn_end
    prepare_next   hook outcome                              hook_called
    should_stop    hook outcome                              hook_called
    poll           hook outcome                              drained, hook_called, turn_start,
                                                             agent_end
    failing        -                                         message_start, message_end, turn_end
    agent_end      -                                         agent_end
    settle         -                                         settled

Accepted in every phase: queued, cancelled, cleared, abort requested, settings requested, history
replaced, reset requested, renamed, listener failed, recovered, tool returned late. Prompted and
continued while a run is active are refused: busy.
"""

from __future__ import annotations

from refold.events.agent.inputs import (
    HookRaised,
    HookReturned,
    ModelDelta,
    ModelFailed,
    ModelFinished,
    RetryDue,
    ToolFailed,
    ToolProgressed,
    ToolReturned,
)
from refold.events.agent.state import Phase
from refold.events.fact import Fact

_HOOK: frozenset[type[Fact]] = frozenset({HookReturned, HookRaised})

WAITS_FOR: dict[Phase, frozenset[type[Fact]]] = {
    Phase.INJECT: _HOOK,
    Phase.TRANSFORM: _HOOK,
    Phase.STREAM: frozenset({ModelDelta, ModelFinished, ModelFailed}),
    Phase.RETRY: frozenset({RetryDue}),
    Phase.BATCH: _HOOK | {ToolProgressed, ToolReturned, ToolFailed},
    Phase.PREPARE_NEXT: _HOOK,
    Phase.SHOULD_STOP: _HOOK,
    Phase.POLL: _HOOK,
}
"""The outcomes that each waiting phase may receive."""

OUTCOMES: frozenset[type[Fact]] = frozenset().union(*WAITS_FOR.values())
"""Inputs that answer an effect; they are ignored where nobody waits for them."""
