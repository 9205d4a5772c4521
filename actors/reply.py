"""The end of a model call, as the input that says so."""

from __future__ import annotations

from itertools import count

from msgspec.structs import replace

from refold.actors.arguments import fitted
from refold.actors.contents import KnownReply
from refold.actors.gatherer import Gatherer
from refold.actors.providers.provider import Finish
from refold.events.agent import bodies, inputs
from refold.events.agent.bodies import AssistantEnd
from refold.events.agent.context import Request
from refold.events.agent.heads import CallHead
from refold.events.agent.messages import AssistantContent, AssistantMessage, ToolCall
from refold.events.agent.settings import Toolset
from refold.events.canonical import Json, canonical_text
from refold.events.errors import ToolArgumentsError
from refold.events.fact import Offer


def replied(
    request: Request, finish: Finish, gatherer: Gatherer, tools: Toolset, time: int
) -> Offer:
    """`model_finished` with its body: of the content, only what the deltas do not say.

    Args:
        tools: those of the run; the arguments of their calls are checked here, at the edge.
        time: ms since 1970 (UTC).
    """
    streamed = bodies.assembled(gatherer.pieces)
    content = told_apart(streamed if finish.content is None else finish.content)
    whole = content != streamed
    provider, _, model = request.model.partition("/")
    error = finish.error_message
    message = AssistantMessage(
        content=content,
        provider=provider,
        model=model,
        stop_reason=finish.stop_reason,
        usage=finish.usage,
        error_message=None if error is None else canonical_text(error),
        error_kind=finish.error_kind,
        response_id=finish.response_id,
        timestamp=time,
    )
    calls = message.tool_calls
    problems, arguments = _checked(request, tools, calls)
    after = finish.retry_after
    fact = inputs.ModelFinished(
        call=gatherer.call,
        stop_reason=finish.stop_reason,
        calls=tuple(CallHead(call.id, call.name, call.id in problems) for call in calls),
        usage=finish.usage,
        kind=finish.error_kind,
        whole=whole,
        size=gatherer.size,
        retry_after=None if after is None else round(min(max(0, after), 1e9) * 1000),
        translation=finish.translation,
        wire_digest=finish.wire_digest,
    )
    end = AssistantEnd(
        provider=provider,
        model=model,
        timestamp=time,
        content=content if whole else None,
        error_message=message.error_message,
        response_id=finish.response_id,
        problems=tuple(problems.items()),
    )
    return Offer(fact, bodies.encode(end), known=KnownReply(message, arguments))


def _checked(
    request: Request, tools: Toolset, calls: tuple[ToolCall, ...]
) -> tuple[dict[str, str], tuple[Json | None, ...]]:
    """Problems of arguments by call id, and the arguments that fit, by the call's place. Tools
    that prepare their arguments have them checked later.
    """
    schemas = {spec.name: spec.parameters for spec in request.tools}
    problems: dict[str, str] = {}
    arguments: list[Json | None] = []
    for call in calls:
        arguments.append(None)
        tool = tools.find(call.name)
        if tool is None or tool.prepares:
            continue
        try:
            arguments[-1] = fitted(call.name, schemas[call.name], call.arguments)
        except ToolArgumentsError as error:
            problems[call.id] = str(error)
    return problems, tuple(arguments)


def told_apart(content: tuple[AssistantContent, ...]) -> tuple[AssistantContent, ...]:
    """The same content with an id of its own for each call: results are paired by them, and some
    servers use one twice, or none.
    """
    ids = [block.id for block in content if isinstance(block, ToolCall)]
    if all(ids) and len(set(ids)) == len(ids):
        return content
    taken, apart = set(ids), []
    seen: set[str] = set()
    for block in content:
        if isinstance(block, ToolCall) and (not block.id or block.id in seen):
            number = next(n for n in count(2) if f"{block.id or 'call'}_{n}" not in taken)
            block = replace(block, id=f"{block.id or 'call'}_{number}")
            taken.add(block.id)
        if isinstance(block, ToolCall):
            seen.add(block.id)
        apart.append(block)
    return tuple(apart)
