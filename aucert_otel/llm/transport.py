"""One HTTP exchange: bounded in time, in size, and in how many run at once."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakSet

from aucert_otel._safe import Guard
from aucert_otel.background import current_worker
from aucert_otel.errors import ConfigurationError, MissingExtraError


if TYPE_CHECKING:
    import ssl

    import httpx

MAX_RESPONSE_BYTES = 8 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
_EXIT_TIMEOUT_S = 0.5
_GUARD = Guard("llm connections")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds one attempt may take.

    Raises:
        ConfigurationError: a value is no positive number.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    """Between two pieces of the answer."""
    total_s: float = 90.0
    """For the whole attempt: a server that trickles keeps no one longer than this."""

    def __post_init__(self) -> None:
        for name in ("connect_s", "read_s", "total_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigurationError(
                    f"timeouts.{name} is {value!r}: give a number of seconds above 0"
                )


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response, read and bounded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportFault(Exception):  # noqa: N818 - a state of the connection, translated before anyone sees it
    """An exchange that gave no whole response. It carries nothing of the request."""

    def __init__(self, kind: str, *, sent: bool, what: str) -> None:
        super().__init__(what)
        self.kind = kind
        """``timeout``, ``connection`` or ``too_large``."""
        self.sent = sent
        """The request had gone out, so that the provider may bill it."""


@dataclass(slots=True)
class Progress:
    """How far an exchange came, also for those who cancel it."""

    sent: bool = False

    async def trace(self, event: str, _: Mapping[str, object]) -> None:
        """What the HTTP client reports while it works."""
        if event.endswith("send_request_headers.started"):
            self.sent = True


@dataclass(slots=True)
class _Open:
    """What belongs to one event loop in one process."""

    loop: asyncio.AbstractEventLoop
    pid: int
    tls: ssl.SSLContext
    places: asyncio.Semaphore
    free: list[httpx.AsyncClient]
    """Clients nobody uses just now; the one used last comes first, its connection is warm."""


_left_behind: list[_Open] = []
"""Clients of a parent process: finalising them here would meddle with the parent's sockets."""


class Transport:
    """An HTTP client for one server, made anew for each event loop and after a fork.

    Args:
        concurrency: Exchanges at the same time; others wait their turn in order.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts,
        concurrency: int,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        if concurrency < 1:
            raise ConfigurationError(
                f"concurrency is {concurrency!r}: give 1 or more calls at the same time"
            )
        self.timeouts = timeouts
        self.concurrency = concurrency
        self.max_response_bytes = max_response_bytes
        self._open: _Open | None = None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[httpx.AsyncClient]:
        """Wait for a free place and hold it, with a client of its own.

        One client for all would be the obvious choice, but its pool looks at every connection for
        every other one at each request: at 256 at once that is 30 ms a request.
        """
        opened = self._current()
        async with opened.places:
            client = opened.free.pop() if opened.free else self._client(opened.tls)
            try:
                yield client
            finally:
                if opened is self._open:
                    opened.free.append(client)
                else:  # closed in the meantime
                    await client.aclose()

    def _current(self) -> _Open:
        opened = self._open
        loop = asyncio.get_running_loop()
        if opened is not None:
            if opened.pid != os.getpid():
                _left_behind.append(opened)
            elif opened.loop is loop:
                return opened
        _close_at_exit(self)
        places = asyncio.Semaphore(self.concurrency)
        self._open = _Open(loop, os.getpid(), _tls(), places, [])
        return self._open

    def _client(self, tls: ssl.SSLContext) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(
            verify=tls,
            timeout=httpx.Timeout(self.timeouts.read_s, connect=self.timeouts.connect_s),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=False,  # a key goes only where the user sent it
        )

    async def post(
        self,
        client: httpx.AsyncClient,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        within_s: float,
        progress: Progress,
    ) -> Response:
        """Send a request and read the whole response.

        Raises:
            TransportFault: there was no whole response.
        """
        fault: TransportFault
        try:
            async with asyncio.timeout(min(self.timeouts.total_s, within_s)):
                return await self._exchange(client, url, headers, body, progress)
        except TransportFault as found:
            fault = found
        except TimeoutError:
            fault = TransportFault("timeout", sent=progress.sent, what="no whole answer in time")
        # Raised outside of the handler: no chain leads from it to an object that holds the request.
        raise fault

    async def _exchange(
        self,
        client: httpx.AsyncClient,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        progress: Progress,
    ) -> Response:
        import httpx

        kind = what = ""
        try:
            request = client.build_request(
                "POST",
                url,
                headers=dict(headers),
                content=body,
                extensions={"trace": progress.trace},
            )
            request.extensions.setdefault("timeout", client.timeout.as_dict())
            response = await client.send(request, stream=True)
            try:
                limit = self.max_response_bytes if response.is_success else MAX_ERROR_BYTES
                content = await _read(response, limit)
            finally:
                await response.aclose()
            if content is not None:
                return Response(response.status_code, response.headers, content)
            kind, what = "too_large", "the response is larger than allowed"
        except httpx.TimeoutException as error:
            kind, what = "timeout", type(error).__name__
        except (httpx.HTTPError, OSError) as error:
            kind, what = "connection", type(error).__name__
        raise TransportFault(kind, sent=progress.sent, what=what)

    async def aclose(self) -> None:
        """Close the connections of the running loop; a later call opens new ones."""
        opened, self._open = self._open, None
        if opened is None:
            return
        if opened.pid != os.getpid():
            _left_behind.append(opened)
        elif opened.loop is asyncio.get_running_loop():
            while opened.free:
                await opened.free.pop().aclose()


_to_close: WeakSet[Transport] = WeakSet()


def _close_at_exit(transport: Transport) -> None:
    # Registered after the worker's own exit handler, and so run before it, while its loop turns.
    if not _to_close:
        atexit.register(_close_all, os.getpid())
    _to_close.add(transport)


def _close_all(pid: int) -> None:
    running = current_worker()
    if os.getpid() != pid or running is None or not running._loop.is_running():
        return
    with _GUARD, contextlib.suppress(TimeoutError):  # exit waits for nobody
        for transport in list(_to_close):
            closing = asyncio.run_coroutine_threadsafe(transport.aclose(), running._loop)
            closing.result(_EXIT_TIMEOUT_S)


@functools.cache
def _tls() -> ssl.SSLContext:
    """The certificates to trust; reading them takes longer than making a hundred clients.

    Raises:
        MissingExtraError: the extra ``llm`` is not installed.
    """
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("a chat model over HTTP", "llm") from None
    return httpx.create_ssl_context()


async def _read(response: httpx.Response, limit: int) -> bytes | None:
    """The body; ``None`` as soon as it is larger than allowed, decompressed or not."""
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > limit:
            # The beginning of a long error page says enough.
            return None if response.is_success else b"".join(pieces)
        pieces.append(piece)
    return b"".join(pieces)
