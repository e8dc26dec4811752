"""Durations and sizes as people type them: ``90``, ``1.5h``, ``7d``; ``4096``, ``10MB``, ``1GiB``. Pure."""

import re

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_BYTES = {"": 1, "b": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def seconds(text: str) -> float:
    """Return a duration in seconds; raise ``ValueError`` if the text is none."""
    return _scaled(text, _SECONDS, "a duration such as 90, 1.5h or 7d")


def size(text: str) -> int:
    """Return a size in bytes; raise ``ValueError`` if the text is none."""
    return int(_scaled(text, _BYTES, "a size such as 4096, 10MB or 1GiB"))


def human_bytes(number: int) -> str:
    """Return a size for people: ``512 B``, ``3.4 MiB``."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _scaled(text: str, scale: dict[str, float] | dict[str, int], wanted: str) -> float:
    match = _NUMBER.fullmatch(text)
    factor = scale.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{text!r} is not {wanted}")
    return float(match[1]) * factor
