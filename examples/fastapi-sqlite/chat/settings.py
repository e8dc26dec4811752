"""What both processes are told, by environment variables: where the files are, where to listen, how long a lease is."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What both processes have to agree on.

    Attributes:
        data: The folder of all files.
        host: Where the API listens.
        port: Where the API listens.
        lease: Seconds after which a job whose worker is silent is taken up by another one.
        at_once: Jobs that one worker has at a time.
        pause: Seconds between two words of the model that stands in for a real one.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    lease: float = 5.0
    at_once: int = 8
    pause: float = 0.08

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read ``CHAT_DATA``, ``CHAT_PORT`` and so on. Makes the folder."""
        data = Path(environ.get("CHAT_DATA", "data")).resolve()
        data.mkdir(parents=True, exist_ok=True)
        return cls(
            data=data,
            host=environ.get("CHAT_HOST", cls.host),
            port=int(environ.get("CHAT_PORT", cls.port)),
            lease=float(environ.get("CHAT_LEASE", cls.lease)),
            at_once=int(environ.get("CHAT_AT_ONCE", cls.at_once)),
            pause=float(environ.get("CHAT_PAUSE", cls.pause)),
        )

    @property
    def jobs(self) -> Path:
        """The application's own database."""
        return self.data / "jobs.db"

    @property
    def streams(self) -> str:
        """The database of the streams, which Tailrace makes and keeps."""
        return f"sqlite:///{self.data / 'streams.db'}"

    @property
    def keys(self) -> Path:
        """The keys of resume tokens. They outlive the API process, or browsers could not resume after its restart."""
        return self.data / "keys.txt"
