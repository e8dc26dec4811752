"""What every server, or set of servers, is to a test: started on the way into a block, removed on the way out."""

from abc import ABC, abstractmethod
from typing import Self


class Started(ABC):
    """A context manager over ``start`` and ``close``. Not thread-safe."""

    @abstractmethod
    def start(self) -> None:
        """Start; return when it is of use. Blocks."""

    @abstractmethod
    def close(self) -> None:
        """End and remove it. Idempotent."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
