"""A Django project in one file, for gunicorn and uvicorn: it streams orders, and tells how many streams are open."""

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import path
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

import tailrace
from tailrace import aio
from tailrace.integrations import asgi, wsgi
from tailrace.integrations.django import astreaming, streaming
from tailrace.sse import StreamSettings
from tailrace.tokens import KeyRing, Tokens

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="tests",
    # One that would compress, and one that looks at what goes out.
    MIDDLEWARE=["django.middleware.gzip.GZipMiddleware", "django.middleware.common.CommonMiddleware"],
)
django.setup()

STORE = os.environ["TEST_STORE"]
tokens = Tokens(KeyRing.from_environment(), audience="tests")
times = StreamSettings(heartbeat=0.5, retry=0.2)
held: dict[str, object] = {}


def events(request: HttpRequest, order: str) -> HttpResponseBase:
    """Stream an order, under WSGI."""
    if "streams" not in held:
        held.setdefault("streams", tailrace.connect(STORE))
        held.setdefault("events", wsgi.EventStreams(times))
    streams, event_streams = held["streams"], held["events"]
    assert isinstance(streams, tailrace.StreamClient)
    assert isinstance(event_streams, wsgi.EventStreams)
    try:
        return streaming(
            event_streams.events(
                request.META,
                streams.topic(f"order:{order}"),
                tokens,
                start=request.GET.get("start", "tail"),
                cursor=request.GET.get("cursor"),
            )
        )
    except tailrace.InvalidTokenError:
        return HttpResponseBadRequest("start anew")


async def aevents(request: HttpRequest, order: str) -> HttpResponseBase:
    """Stream an order, under ASGI."""
    streams, event_streams = held["streams"], held["events"]
    assert isinstance(streams, aio.StreamClient)
    assert isinstance(event_streams, asgi.EventStreams)
    try:
        answer = event_streams.response(
            Request(request.scope),  # type: ignore[attr-defined]
            streams.topic(f"order:{order}"),
            tokens,
            start=request.GET.get("start", "tail"),
            cursor=request.GET.get("cursor"),
        )
    except tailrace.InvalidTokenError:
        return HttpResponseBadRequest("start anew")
    return await astreaming(request, answer)  # type: ignore[arg-type]


def still_open(request: HttpRequest) -> HttpResponse:
    """Tell what is held."""
    events, streams = held["events"], held["streams"]
    assert isinstance(events, wsgi.EventStreams | asgi.EventStreams)
    assert isinstance(streams, tailrace.StreamClient | aio.StreamClient)
    subscriptions = int(streams.stats()["subscriptions"] or 0)
    return JsonResponse({"streams": events.count, "subscriptions": subscriptions, "threads": threading.active_count()})


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Connect in the loop that serves."""
    held["events"] = event_streams = asgi.EventStreams(times)
    async with await aio.connect(STORE) as streams:
        held["streams"] = streams
        with event_streams.drained_by_signals():
            yield


urlpatterns = [
    path("orders/<str:order>/events", aevents if os.environ["TEST_COLOUR"] == "asgi" else events),
    path("open", still_open),
]
wsgi_application = get_wsgi_application()
asgi_application = Starlette(routes=[Mount("/", get_asgi_application())], lifespan=lifespan)
