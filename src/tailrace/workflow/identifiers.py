"""Ids as text of 26 characters in Crockford's base32, which sorts as the numbers do and reads the same to everybody."""

import os
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHARS = 26


def written(number: int) -> str:
    """Return the lowest 130 bits of a number as an id."""
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(CHARS)))


def new_run_id() -> str:
    """Return an id that no other run has. It begins with the time in ms, so that those made later come later."""
    return written(int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10)))
