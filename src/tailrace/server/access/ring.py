"""The access keys of a server, by id. Never changes; adding and revoking return others."""

from collections.abc import Iterable

from tailrace.errors import KeyRingError
from tailrace.server.access.keys import AccessKey
from tailrace.server.principals import Principal
from tailrace.tokens.lines import lines_of

_HEADING = (
    "# Access keys of tailrace: id hash name tenant expires scopes. Whoever can change this can let themselves in.\n"
)


class AccessKeys:
    """Keys by their ids. Immutable, thread-safe."""

    __slots__ = ("_by_id", "_principals")

    def __init__(self, keys: Iterable[AccessKey] = ()) -> None:
        self._by_id: dict[str, AccessKey] = {}
        for key in keys:
            if key.id in self._by_id:
                raise KeyRingError(f"two access keys have the id {key.id}")
            self._by_id[key.id] = key
        self._principals = {key.id: key.principal for key in self._by_id.values()}

    @classmethod
    def parse(cls, text: str) -> "AccessKeys":
        """Return the keys of some lines; empty ones and those that begin with ``#`` are skipped.

        A semicolon ends a line too, for environments that can not hold several.

        Raises:
            KeyRingError: A line is wrong. The message names it and never quotes it.
        """
        keys = []
        for number, line in lines_of(text):
            try:
                keys.append(AccessKey.from_line(line))
            except KeyRingError as error:
                raise KeyRingError(f"line {number} of the access keys: {error}") from None
        return cls(keys)

    @property
    def keys(self) -> tuple[AccessKey, ...]:
        """All of them, in the order of their lines."""
        return tuple(self._by_id.values())

    def find(self, identity: str) -> AccessKey | None:
        """Return the key with an id."""
        return self._by_id.get(identity)

    def principal(self, identity: str) -> Principal:
        """Return who holds the key with an id that is here."""
        return self._principals[identity]

    def with_key(self, key: AccessKey) -> "AccessKeys":
        """Return these and one more."""
        return AccessKeys((*self.keys, key))

    def without(self, identity: str) -> "AccessKeys":
        """Return all others.

        Raises:
            KeyRingError: There is none with that id.
        """
        if identity not in self._by_id:
            raise KeyRingError(f"there is no access key with the id {identity}")
        return AccessKeys(key for key in self.keys if key.id != identity)

    @property
    def text(self) -> str:
        """The keys as the content of a file."""
        return _HEADING + "".join(f"{key.line}\n" for key in self.keys)
