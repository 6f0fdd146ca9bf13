"""A scripted HTTP server on loopback that speaks OpenAI's chat completions, as JSON and as a stream.

::

    with OpenAIServer() as server:
        server.script(Reply("see 212"), Reply("see 118", finish_reason="length"))
        model = ChatOpenAI(model="scripted", base_url=server.url, api_key="none", max_retries=0)
        ...
        server.requests[0].body["messages"]

Replies are handed out in order; ``server.answer`` makes them from the request instead, for callers
that run side by side. Nothing is slow unless a reply says so: ``gate`` holds one back until it is set.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


GATE_TIMEOUT_S = 30.0
"""A gate nobody opens ends the test with an error instead of hanging it."""


@dataclass(frozen=True)
class ToolCall:
    """A function the model asks for."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = "call_1"

    @property
    def text(self) -> str:
        """The arguments as the protocol carries them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Reply:
    """One scripted answer."""

    text: str | None = ""
    _: KW_ONLY
    finish_reason: str | None = None
    """Default: ``tool_calls`` where there are any, else ``stop``."""
    usage: tuple[int, int] | None = (12, 7)
    """Tokens in and out; ``None`` leaves usage out. A stream has it only if the request asks for it."""
    tool_calls: Sequence[ToolCall] = ()
    logprobs: Mapping[str, Any] | None = None
    model: str | None = None
    """Default: the model that the request names."""
    status: int = 200
    """Anything else is an error, with ``text`` as its message."""
    headers: Mapping[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None
    """Hold the reply back until this is set; in a stream, after the first chunk."""
    chunks: Sequence[str] | None = None
    """The text as streamed; default: one chunk a word."""
    cut_after: int | None = None
    """Close the connection in the middle of a stream, after so many chunks of text."""
    raw: bytes | None = None
    """Send exactly this as the body, whatever the request asked for."""
    content_type: str = "application/json"

    @property
    def finish(self) -> str:
        """Why the model stopped."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return self.body["messages"]

    @property
    def last(self) -> str:
        """The last message's content."""
        return self.messages[-1]["content"]


class OpenAIServer:
    """The server; a context manager. It answers each connection on a thread of its own."""

    def __init__(self, answer: Callable[[Request], Reply] | None = None) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self._replies: deque[Reply] = deque()
        self._arrived = threading.Condition()
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, *replies: Reply | str) -> Self:
        """Append replies; a text is a reply that says it."""
        self._replies.extend(Reply(r) if isinstance(r, str) else r for r in replies)
        return self

    def wait_for_requests(self, number: int, timeout: float = GATE_TIMEOUT_S) -> None:
        """Block until so many requests have arrived."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= number, timeout):
                raise TimeoutError(f"{len(self.requests)} of {number} requests arrived")

    def reply_to(self, request: Request) -> Reply:
        """Record a request and take its reply."""
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            if self.answer is None:
                if self._replies:
                    return self._replies.popleft()
                return Reply("the script has no reply left", status=500)
        return self.answer(request)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    server_of: OpenAIServer
    # One connection a request: a client's pool holds none open when its event loop ends.
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Tests keep their output clean."""

    def do_POST(self) -> None:
        """Answer a completion."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        try:
            if not self.path.endswith("/chat/completions"):
                self._send(404, _error(f"no such path: {self.path}"))
                return
            reply = self.server_of.reply_to(request)
            streams = bool(body.get("stream")) and reply.status == 200 and reply.raw is None
            if reply.gate is not None and not streams:
                reply.gate.wait(GATE_TIMEOUT_S)
            if reply.raw is not None:
                self._send(reply.status, reply.raw, reply)
            elif reply.status != 200:
                self._send(reply.status, _error(reply.text or ""), reply)
            elif streams:
                self._stream(reply, body)
            else:
                self._send(200, json.dumps(_completion(reply, body)).encode(), reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client went away: cancelled, or stopped reading

    def _send(self, status: int, body: bytes, reply: Reply | None = None) -> None:
        self.send_response(status)
        for name, value in (reply.headers if reply else {}).items():
            self.send_header(name, value)
        self.send_header("content-type", reply.content_type if reply else "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, event in enumerate(_events(reply, body)):
            if reply.cut_after is not None and number > reply.cut_after:
                return
            if number == 1 and reply.gate is not None:
                reply.gate.wait(GATE_TIMEOUT_S)
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "scripted", "code": None}}).encode()


def _head(kind: str, reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    model = reply.model or body.get("model", "scripted")
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1_780_000_000, "model": model}


def _usage(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    sent, written = reply.usage
    return {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}


def _calls(reply: Reply, *, indexed: bool) -> list[dict[str, Any]]:
    return [
        {
            **({"index": index} if indexed else {}),
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.text},
        }
        for index, call in enumerate(reply.tool_calls)
    ]


def _completion(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply, indexed=False)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    if reply.logprobs is not None:
        choice["logprobs"] = reply.logprobs
    usage = _usage(reply)
    return {
        **_head("chat.completion", reply, body),
        "choices": [choice],
        **({} if usage is None else {"usage": usage}),
    }


def _events(reply: Reply, body: dict[str, Any]) -> list[dict[str, Any]]:
    head = _head("chat.completion.chunk", reply, body)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    texts = reply.chunks
    if texts is None:
        words = (reply.text or "").split(" ")
        texts = [word if i == 0 else f" {word}" for i, word in enumerate(words)]
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": text}) for text in texts if text]
    if reply.tool_calls:
        events.append(chunk({"tool_calls": _calls(reply, indexed=True)}))
    events.append(chunk({}, reply.finish))
    usage = _usage(reply)
    if usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        events.append({**head, "choices": [], "usage": usage})
    return events
