"""Operations for principals who may administer: on the topics of a grant, or, to sweep, on all."""

from functools import partial

from tailrace import wire
from tailrace.server.call import Call
from tailrace.server.principals import Action
from tailrace.server.response import Response
from tailrace.server.store.bodies import answer, asked


async def topics(call: Call) -> Response:
    """Answer with existing topics, in order."""
    prefix, after, limit = await asked(call, wire.topics_asked_from)
    call.principal.require_everywhere(Action.ADMIN, prefix)
    service = call.service
    return answer(wire.infos_to(await service.run(partial(service.operations.topics, prefix, after, limit))))


async def trim(call: Call) -> Response:
    """Apply bounds to one topic; answer how many records were removed."""
    topic, retention = await asked(call, wire.trim_from)
    call.principal.require(Action.ADMIN, topic)
    service = call.service
    return answer(wire.to_json(await service.run(partial(service.operations.trim, topic, retention))))


async def delete(call: Call) -> Response:
    """Remove a topic; answer whether it existed."""
    topic = await asked(call, wire.topic_from)
    call.principal.require(Action.ADMIN, topic)
    service = call.service
    return answer(wire.to_json(await service.run(partial(service.operations.delete, topic))))


async def sweep(call: Call) -> Response:
    """Apply the server's retention to all topics; answer what that did."""
    budget = await asked(call, wire.budget_from)
    call.principal.require_everywhere(Action.ADMIN, "")
    service = call.service
    return answer(wire.report_to(await service.run(partial(service.operations.sweep, budget))))
