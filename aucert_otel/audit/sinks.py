"""Where audit records go: the protocol a sink implements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from aucert_otel.audit.chain import Entry, Head
from aucert_otel.audit.record import AuditRecord
from aucert_otel.errors import AucertError


class SinkError(AucertError):
    """A sink could not be read or written. The message names the place, without its password."""


class AuditSink(Protocol):
    """A durable, hash-chained log of audit records.

    Several threads and processes may append to one log at the same time.
    """

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Store records. When this returns they are acknowledged: they survive ``kill -9``.

        Either all of them are stored or, when it raises, the log is as it was. The one exception
        is a connection that dies during its commit: then nobody knows, and a retry may store a
        record twice.

        Raises:
            ValueError, TypeError: a record cannot be written as JSON. Trying again is of no use.
            OSError, SinkError: the store failed. Trying again may help.
        """
        ...

    def entries(self) -> Iterator[Entry]:
        """Every stored entry, in stored order, in constant memory.

        Raises:
            OSError, SinkError: the store cannot be read.
        """
        ...

    def head(self) -> Head | None:
        """The end of the log as kept beside it; ``None`` if there is none.

        Raises:
            OSError, SinkError: the store cannot be read.
        """
        ...

    def close(self) -> None:
        """Release what the sink holds. It never loses an acknowledged record."""
        ...


@runtime_checkable
class SearchableSink(Protocol):
    """A sink that finds entries faster than by reading them all."""

    def last(self, n: int) -> list[Entry]:
        """The last ``n`` entries, oldest first."""
        ...

    def find(self, key: str) -> list[Entry]:
        """The entries with this test id, trace id or number."""
        ...
