"""One request on its way through a handler of ``/api``."""

from collections.abc import Mapping
from dataclasses import dataclass

from tailrace.asgi import Send
from tailrace.server.principals import Principal
from tailrace.server.problems import Problem
from tailrace.server.request import Request
from tailrace.server.workflow import identities, jsontext
from tailrace.server.workflow.checks import too_large
from tailrace.server.workflow.refusals import Refusal
from tailrace.server.workflow.shared import Shared
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.model import Run, StreamRef


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given.

    Attributes:
        shared: What all requests share.
        request: What was asked.
        principal: Who asks; allowed to do it.
        namespace: In which; one that exists, where the route says so.
        segments: What stands in the path for its placeholders, still percent-encoded.
        send: For a handler that answers by itself.
    """

    shared: Shared
    request: Request
    principal: Principal
    namespace: str
    segments: Mapping[str, bytes]
    send: Send

    @property
    def workflow_id(self) -> str:
        """The id of the workflow.

        Raises:
            InvalidFieldsError: It is no UTF-8.
        """
        return identities.text_of(self.segments, "workflow_id")

    @property
    def run(self) -> Run:
        """The run.

        Raises:
            InvalidFieldsError: An id is no UTF-8.
        """
        return identities.run_of(self.namespace, self.segments)

    @property
    def stream(self) -> StreamRef:
        """The stream.

        Raises:
            InvalidFieldsError: An id is no UTF-8.
            InvalidStreamNameError: No stream can have that name.
        """
        return identities.stream_of(self.namespace, self.segments)

    async def body(self) -> bytes:
        """Return the body, which is JSON if it says what it is.

        Raises:
            Refusal: ``payload_too_large``, ``unsupported_media_type``.
            Problem: It does not come.
        """
        limit = self.shared.max_request
        try:
            body = await self.request.body(limit=limit, within=self.shared.core.settings.body_timeout)
        except Problem as problem:
            if problem.name == "too-large":
                raise too_large(limit) from None
            raise
        kind = self.request.header(b"content-type")
        if body and kind is not None and not _is_json(kind):
            raise Refusal(
                "unsupported_media_type",
                "the body must be application/json",
                accepted_content_types=["application/json", "application/*+json"],
            )
        return body

    async def fields(self) -> Mapping[str, object]:
        """Return the fields of the JSON object in the body; none if there is no body. ``null`` is as good as missing.

        Raises:
            Refusal: ``malformed_json``, and as ``body``.
            InvalidFieldsError: It is JSON, and no object.
        """
        body = await self.body()
        if not body:
            return {}
        found = jsontext.decoded(body)
        if not isinstance(found, dict):
            raise InvalidFieldsError({"body": ["must be an object"]})
        return {name: value for name, value in found.items() if value is not None}


def _is_json(kind: str) -> bool:
    media = kind.partition(";")[0].strip().lower()
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
