"""What the store is, where a topic stands, and its end."""

import dataclasses
from functools import partial
from importlib import metadata

from tailrace import spi, wire
from tailrace.server.call import Call
from tailrace.server.desk import MOST_TOPICS
from tailrace.server.principals import Action
from tailrace.server.response import Response
from tailrace.server.store.bodies import answer, asked, trusted

HEAD_ROOM = 256 * 1024
"""Bytes of a body that are left to what stands around a payload."""


async def describe(call: Call) -> Response:
    """Answer what the store can do, and within which limits."""
    trusted(call)
    service = call.service
    most = min(service.max_payload, max(1, service.settings.max_body - HEAD_ROOM))
    store = dataclasses.replace(service.backend.capabilities, max_payload=most)
    said = wire.Description(wire.PROTOCOL, metadata.version("tailrace"), store, service.settings.max_body, MOST_TOPICS)
    return answer(wire.description_to(said))


async def bounds(call: Call) -> Response:
    """Answer where a topic stands."""
    topic = await asked(call, wire.topic_from)
    call.principal.require(Action.READ, topic)
    found: spi.Bounds | spi.Unborn = await call.service.desk.run(partial(call.service.backend.bounds, topic))
    return answer(wire.bounds_to(found))


async def seal(call: Call) -> Response:
    """End a topic for good."""
    topic, error = await asked(call, wire.seal_from)
    call.principal.require(Action.SEAL, topic)
    await call.service.topic(topic).seal(error=error)
    return answer(b"{}")
