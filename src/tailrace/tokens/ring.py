"""The keys of a deployment: which one seals, which ones open, and what a rotation makes of them.

A ring never changes; a rotation returns another one. Files are the business of ``ringfile``.
"""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.tokens import ringfile
from tailrace.tokens.keys import SECRET_BYTES, Key, KeyState
from tailrace.tokens.lines import lines_of

KEYS_VARIABLE = "TAILRACE_TOKEN_KEYS"
FILE_VARIABLE = "TAILRACE_TOKEN_KEYS_FILE"

_HEADING = "# Key ring of tailrace: id secret created state. Whoever reads this can make tokens.\n"


class KeyRing:
    """Keys for resume tokens: the newest active one seals, all that are not retired open.

    Immutable, thread-safe, and good in forked children. Its ``repr`` shows ids and states, never secrets.
    """

    __slots__ = ("_decoy", "_opening", "_sealing", "keys")

    def __init__(self, keys: Iterable[Key]) -> None:
        """Take the keys, in the order of their lines.

        Raises:
            KeyRingError: No key is active, or two have the same id or secret.
        """
        # Of two that were made in one second, the later line is the newer one: sorting is stable.
        self.keys = tuple(sorted(keys, key=lambda key: key.created))
        if len({key.id for key in self.keys}) != len(self.keys):
            raise KeyRingError("two keys have the same id")
        if len({key.secret for key in self.keys}) != len(self.keys):
            raise KeyRingError("two keys have the same secret")
        active = [key for key in self.keys if key.state is KeyState.ACTIVE]
        if not active:
            raise KeyRingError("no key is active, so none can seal: make a ring with tailrace keys new")
        self._sealing = active[-1]
        self._opening = {key.id: key.secret for key in self.keys if key.state is not KeyState.RETIRED}
        self._decoy = os.urandom(SECRET_BYTES)

    @classmethod
    def new(cls) -> "KeyRing":
        """Return a ring with one new key."""
        return cls([Key.fresh(created=_now())])

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Return the ring of some lines, one key each; empty ones and those that begin with ``#`` are skipped.

        A semicolon ends a line too, for environments that can not hold several.

        Raises:
            KeyRingError: The ring is wrong. The message names the line and never quotes it.
        """
        keys = []
        for number, line in lines_of(text):
            try:
                keys.append(Key.from_line(line))
            except KeyRingError as error:
                raise KeyRingError(f"line {number}: {error}") from None
        return cls(keys)

    @classmethod
    def from_file(cls, path: str | Path) -> "KeyRing":
        """Return the ring of a file. Reads it once: a process sees a rotation when it reads again.

        Raises:
            KeyRingError: The file can not be read, others may read or change it, or the ring in it is wrong.
        """
        text, _ = ringfile.read(Path(path))
        return _named(str(path), text)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "KeyRing":
        """Return the ring that ``TAILRACE_TOKEN_KEYS`` holds, or that ``TAILRACE_TOKEN_KEYS_FILE`` names.

        Raises:
            KeyRingError: Neither is set, or both are, or the ring is wrong.
        """
        environ = os.environ if environ is None else environ
        text, path = environ.get(KEYS_VARIABLE, ""), environ.get(FILE_VARIABLE, "")
        if bool(text) == bool(path):
            raise KeyRingError(f"set one of {KEYS_VARIABLE} and {FILE_VARIABLE}, and not both")
        return cls.from_file(path) if path else _named(KEYS_VARIABLE, text)

    def rotated(self, *, stage: bool = False, keep: int | None = None) -> "KeyRing":
        """Return the ring after a rotation.

        Args:
            stage: Add a key that opens only, for all processes to know it before the next rotation lets it seal.
            keep: Active keys that stay, the newest ones; older ones are retired. ``None`` retires none.

        Raises:
            InvalidArgumentError: ``keep`` is below 1.
            KeyRingError: A key is staged already.
        """
        if keep is not None and keep < 1:
            raise InvalidArgumentError(f"a ring keeps 1 active key or more, not {keep}")
        staged = [key for key in self.keys if key.state is KeyState.STAGED]
        if stage and staged:
            raise KeyRingError(f"key {staged[0].id.hex()} is staged already: rotate once more and it seals")
        if staged:
            keys = [_in_state(key, KeyState.ACTIVE) if key in staged else key for key in self.keys]
        else:
            keys = [*self.keys, self._fresh(KeyState.STAGED if stage else KeyState.ACTIVE)]
        return KeyRing(keys if keep is None else _only(keep, keys))

    def _fresh(self, state: KeyState) -> Key:
        # Never older than the newest one, or a clock that was set back would leave the old key sealing.
        created = max(_now(), self.keys[-1].created)
        taken = {key.id for key in self.keys}
        while (key := Key.fresh(created=created, state=state)).id in taken:
            pass
        return key

    @property
    def sealing(self) -> Key:
        """The key that seals."""
        return self._sealing

    def secret_for(self, identity: bytes) -> bytes:
        """Return the secret that opens tokens with this id; if there is none, one that opens nothing.

        Whoever opens tokens does the same work in both cases, so time does not tell which ids exist.
        """
        return self._opening.get(identity, self._decoy)

    @property
    def text(self) -> str:
        """The ring as the content of a file, secrets included."""
        return _HEADING + "".join(f"{key.line}\n" for key in self.keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(f'{key.id.hex()} {key.state.value}' for key in self.keys)})"


def _named(source: str, text: str) -> KeyRing:
    try:
        return KeyRing.parse(text)
    except KeyRingError as error:
        raise KeyRingError(f"the key ring in {source}: {error}") from None


def _in_state(key: Key, state: KeyState) -> Key:
    return Key(key.id, key.secret, key.created, state)


def _only(count: int, keys: list[Key]) -> list[Key]:
    active = sorted((key for key in keys if key.state is KeyState.ACTIVE), key=lambda key: key.created)
    leaving = {key.id for key in active[:-count]}
    return [_in_state(key, KeyState.RETIRED) if key.id in leaving else key for key in keys]


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
