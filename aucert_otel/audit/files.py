"""Files of a log as they are opened: the named file itself, never what a link or a device puts there."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from aucert_otel.audit.sinks import SinkError


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file; a new one is for its owner only.

    Raises:
        SinkError: it is a symbolic link, a folder, a pipe or a device.
        OSError: it cannot be opened.
    """
    # Without O_NONBLOCK a pipe would be waited for, before anybody could see that it is one.
    safe = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        fd = os.open(path, flags | safe, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise SinkError(
                f"{os.fspath(path)!r} is a symbolic link: name the file itself"
            ) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise SinkError(f"{os.fspath(path)!r} is no regular file: name a file")
    return fd


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
