"""A chat completions server of its own process that answers after a delay: for throughput.py.

It does the least that HTTP allows, so that its own work stays out of the comparison.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


Say = Callable[[str, str], str]
"""The reply to a system message and a user message."""


async def serve(say: Say, delay_s: float) -> None:
    """Print the port, and answer until standard input ends."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                messages = json.loads(await reader.readexactly(length))["messages"]
                await asyncio.sleep(delay_s)
                writer.write(_response(say(messages[0]["content"], messages[-1]["content"])))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # the client is done, or we are
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=2048)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def _response(text: str) -> bytes:
    body = json.dumps(
        {
            "model": "delayed",
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 500, "completion_tokens": 40},
        }
    ).encode()
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def running(*command: str) -> Iterator[str]:
    """Run a command that calls `serve`; gives the base URL for clients."""
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()
