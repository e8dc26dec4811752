"""Commands as bytes, by the C library that also reads the replies."""

from collections.abc import Callable
from typing import cast

import hiredis

pack = cast("Callable[[tuple[bytes | int, ...]], bytes]", hiredis.pack_command)
"""Returns one command, given as the tuple of its arguments, as it is sent. Pure."""
