"""What stands before the application."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tailrace.asgi import Receive, Scope, Send

ASGIApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
