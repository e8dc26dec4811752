"""Durable, resumable streams for workflow and agent events, on the store you already run."""

from tailrace.client import StreamClient, connect
from tailrace.errors import (
    CursorUnavailableError,
    DurableStreamError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    InvalidTokenError,
    InvalidTopicNameError,
    InvalidTypeError,
    KeyRingError,
    PayloadTooLargeError,
    StoreUnusableError,
    TopicSealedError,
)
from tailrace.opening import ConnectOptions
from tailrace.options import EngineOptions, StoreOptions
from tailrace.protocols import DurableStreamProducer, DurableStreamSubscription, DurableStreamTopic
from tailrace.records import CLOSED, Closed, DurableStreamRecord, StreamEnd, TopicCursor
from tailrace.retention import Retention
from tailrace.subscription import Subscription
from tailrace.sweeping import Sweeping
from tailrace.topic import Producer, Topic

__all__ = [
    # the contract
    "CLOSED",
    "Closed",
    "DurableStreamProducer",
    "DurableStreamRecord",
    "DurableStreamSubscription",
    "DurableStreamTopic",
    "TopicCursor",
    # the library
    "ConnectOptions",
    "EngineOptions",
    "Producer",
    "Retention",
    "StoreOptions",
    "StreamClient",
    "StreamEnd",
    "Subscription",
    "Sweeping",
    "Topic",
    "connect",
    # errors
    "CursorUnavailableError",
    "DurableStreamError",
    "DurableStreamUnavailableError",
    "InvalidArgumentError",
    "InvalidTokenError",
    "InvalidTopicNameError",
    "InvalidTypeError",
    "KeyRingError",
    "PayloadTooLargeError",
    "StoreUnusableError",
    "TopicSealedError",
]  # fmt: skip
