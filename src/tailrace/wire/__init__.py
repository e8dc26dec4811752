"""What the bulk routes of the server and the store over HTTP say to each other. Pure: bytes in, values of the SPI out.

Both sides check everything that the other one says, and raise ``MalformedError`` for what it can not have meant.
"""

from tailrace.wire.appending import AppendAsked, outcomes_from, outcomes_to, pack_append, unpack_append
from tailrace.wire.describing import Description, description_from, description_to
from tailrace.wire.failures import KINDS, failure_of, kind_of
from tailrace.wire.framing import Frames, MalformedError, frame, from_json, to_json
from tailrace.wire.hints import Hints, hints_from, hints_to, topics_from, topics_to
from tailrace.wire.operating import (
    TopicsAsked,
    budget_from,
    budget_to,
    count_from,
    flag_from,
    infos_from,
    infos_to,
    report_from,
    report_to,
    topics_asked_from,
    trim_from,
    trim_to,
)
from tailrace.wire.places import bounds_from, bounds_to, topic_from
from tailrace.wire.protocol import ACCEPTED, CONTENT_TYPE, PATHS, PROTOCOL, Paths
from tailrace.wire.reading import pack_pages, requests_from, requests_to, unpack_pages
from tailrace.wire.sealing import seal_from, seal_to

__all__ = [
    "ACCEPTED",
    "CONTENT_TYPE",
    "KINDS",
    "PATHS",
    "PROTOCOL",
    "AppendAsked",
    "Description",
    "Frames",
    "Hints",
    "MalformedError",
    "Paths",
    "TopicsAsked",
    "bounds_from",
    "bounds_to",
    "budget_from",
    "budget_to",
    "count_from",
    "description_from",
    "description_to",
    "failure_of",
    "flag_from",
    "frame",
    "from_json",
    "hints_from",
    "hints_to",
    "infos_from",
    "infos_to",
    "kind_of",
    "outcomes_from",
    "outcomes_to",
    "pack_append",
    "pack_pages",
    "report_from",
    "report_to",
    "requests_from",
    "requests_to",
    "seal_from",
    "seal_to",
    "to_json",
    "topic_from",
    "topics_asked_from",
    "topics_from",
    "topics_to",
    "trim_from",
    "trim_to",
    "unpack_append",
    "unpack_pages",
]
