"""A scripted model server on loopback that can answer like OpenAI or Anthropic, or misbehave.

::

    with LlmServer() as server:
        server.script(failing(429, {"retry-after": "2"}), openai('{"verdict": "pass"}'))
        ...
        server.requests[0].body["messages"]

Answers are handed out in order; ``server.answer`` makes them from the request instead. It speaks
HTTP over bare sockets, so that it can stop in the middle of anything.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self


GATE_TIMEOUT_S = 30.0
"""A gate nobody opens ends the test with an error instead of hanging it."""


@dataclass(frozen=True)
class Answer:
    """What the server sends: bytes, and where it stops."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Close the connection after so many bytes of the body; -1 before the first line."""
    drip: bool = False
    """One byte at a time, until the client goes away."""
    gate: threading.Event | None = None
    """Answer only once it is set."""


@dataclass(frozen=True)
class Seen:
    """A request that arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def openai(text: str | None, **changes: Any) -> Answer:
    """A chat completion."""
    usage = changes.pop("usage", {"prompt_tokens": 100, "completion_tokens": 20})
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **changes.pop("message", {})},
        "finish_reason": changes.pop("finish_reason", "stop"),
        "logprobs": changes.pop("logprobs", None),
    }
    envelope = {"id": "chatcmpl-1", "model": "served-1", "choices": [choice], "usage": usage}
    return as_json({**envelope, **changes})


def anthropic(text: str | None, **changes: Any) -> Answer:
    """A message."""
    usage = changes.pop("usage", {"input_tokens": 100, "output_tokens": 20})
    content = [] if text is None else [{"type": "text", "text": text}]
    envelope = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-1",
        "content": content,
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return as_json({**envelope, **changes})


def as_json(value: object, status: int = 200, **options: Any) -> Answer:
    """Any JSON."""
    return Answer(json.dumps(value).encode(), status, **options)


def failing(
    status: int, headers: Mapping[str, str] | None = None, *, message: str = "no", **error: Any
) -> Answer:
    """An error in the shape both APIs use."""
    body = {"error": {"message": message, "type": "error", **error}}
    return as_json(body, status, headers=headers or {})


class LlmServer:
    """The server. Its ``url`` ends where the version does."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.answer: Callable[[Seen], Answer] | None = None
        self.most_at_once = 0
        self.connections = 0
        """Connections accepted so far."""
        self._now = 0
        self._script: deque[Answer] = deque()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._closed = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._listener.close()
        with self._changed:
            for connection in self._connections:
                with _gone():
                    connection.shutdown(socket.SHUT_RDWR)

    def script(self, *answers: Answer) -> None:
        """Queue answers."""
        self._script.extend(answers)

    def wait_for_requests(self, number: int) -> None:
        """Block until so many requests have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= number, GATE_TIMEOUT_S)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.add(connection)
            self.connections += 1
        try:
            # Head and body go out one after the other; without this the second waits for 40 ms.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, connection.makefile("rb") as lines, _gone():
                while (seen := _read(lines)) is not None:
                    with self._changed:
                        self.requests.append(seen)
                        self._now += 1
                        self.most_at_once = max(self.most_at_once, self._now)
                        self._changed.notify_all()
                        answer = None if self.answer else self._script.popleft()
                    try:
                        keep = _send(connection, answer or self.answer(seen))  # type: ignore[misc]
                    finally:
                        with self._changed:
                            self._now -= 1
                    if not keep:
                        return
        finally:
            with self._changed:
                self._connections.discard(connection)


def _read(lines: Any) -> Seen | None:
    first = lines.readline().split()
    if len(first) < 2:
        return None
    headers: dict[str, str] = {}
    while (line := lines.readline().strip()) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = lines.read(int(headers.get("content-length", "0")))
    return Seen(first[1].decode(), headers, json.loads(body))


def _send(connection: socket.socket, answer: Answer) -> bool:
    if answer.gate is not None:
        assert answer.gate.wait(GATE_TIMEOUT_S)
    if answer.cut_after == -1:
        return False
    headers = {
        "content-type": "application/json",
        "content-length": str(len(answer.body)),
        **answer.headers,
    }
    head = f"HTTP/1.1 {answer.status} x\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    connection.sendall(head.encode() + b"\r\n")
    if answer.drip:
        pause = threading.Event()
        for index in range(len(answer.body)):
            connection.sendall(answer.body[index : index + 1])
            pause.wait(0.01)
        return False
    connection.sendall(answer.body if answer.cut_after is None else answer.body[: answer.cut_after])
    return answer.cut_after is None


@contextmanager
def _gone() -> Iterator[None]:
    """The other side may go away at any time."""
    try:
        yield
    except OSError:
        return
