"""Cache of models built for simulated cards: ``tombolo cache list`` and ``tombolo cache clear``."""

from __future__ import annotations

import datetime
import fcntl
import os
import shutil
from pathlib import Path
from typing import List, NamedTuple, Tuple

__all__ = ["Entry", "clear", "entries", "folder"]


class Entry(NamedTuple):
    """A cached model."""

    #: A hash of all that it was built from, or what it is for.
    name: str
    #: Bytes on the disk.
    nbytes: int
    #: Time of its creation or last use, as recorded by the file system.
    used: datetime.datetime


def folder() -> Path:
    """Folder of the cache: ``models`` in ``TOMBOLO_CACHE``, else in ``~/.cache/tombolo``."""
    root = os.environ.get("TOMBOLO_CACHE")
    return (Path(root) if root else Path(os.environ.get("HOME", "/tmp")) / ".cache" / "tombolo") / "models"


def _folders() -> List[Path]:
    try:
        # A process id in the name marks a model that is being built or removed.
        found = (path for path in folder().iterdir() if ".tmp" not in path.name)
        return sorted(path for path in found if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []


def entries() -> List[Entry]:
    """The cached models, by name.

    :raises OSError: the folder cannot be read.
    """
    found = []
    for path in _folders():
        files = []
        for file in path.rglob("*"):
            try:
                files.append(file.lstat())
            except FileNotFoundError:
                continue  # removed meanwhile
        if files:
            used = max(max(file.st_atime, file.st_mtime) for file in files)
            nbytes = sum(file.st_blocks * 512 for file in files)
            found.append(Entry(path.name, nbytes, datetime.datetime.fromtimestamp(used)))
    return found


def clear() -> Tuple[List[str], List[str]]:
    """Removes every model; later cards build theirs again. Open cards are not affected.

    :returns: names of the removed models, and of those kept because they are being built right now.
    :raises OSError: one cannot be removed.
    """
    removed, busy = [], []
    for path in _folders():
        # The lock of a process that builds it. The file stays, because another process may wait for the lock.
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Renamed first, so that no process sees a partial model.
            aside = path.with_name(f"{path.name}.tmp{os.getpid()}-clear")
            path.rename(aside)
            shutil.rmtree(aside)
            removed.append(path.name)
        except BlockingIOError:
            busy.append(path.name)
        finally:
            os.close(descriptor)
    return removed, busy
