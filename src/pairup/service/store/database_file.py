"""The file of an SQLite database: private, and the same one for as long as it is open.

A process that has a file open writes into it even after it was deleted or replaced, and everything
that it acknowledges then is gone when the process ends. So each transaction looks whether the file
is still in its place, and so is its write-ahead log.
"""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from pairup.errors import ServiceError
from pairup.service.store.failures import StoreUnavailableError

_PRIVATE = 0o600  # the write-ahead log and its index get the permissions of the database
_OTHERS = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


class DatabaseFile:
    """The file of a database, made if it is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._places: dict[Path, tuple[int, int]] = {}  # device and inode
        self._connections, self._lock = 0, threading.Lock()
        self.created = self._create()

    def _create(self) -> bool:
        """Make an empty file that only its owner can read, unless there is one."""
        if self.path.exists() and self.path.stat().st_size:
            return False
        self._check_remains()
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, _PRIVATE))
        except OSError as error:
            why = f"unable to open database file, {error.strerror}"
            raise StoreUnavailableError(
                f"the database {str(self.path)!r} {StoreUnavailableError.what} ({why}): "
                f"{StoreUnavailableError.advice}"
            ) from error
        return True

    def _check_remains(self) -> None:
        """Refuse to begin an empty database beside what is left of one that is gone."""
        archive = archive_folder(self.path)
        remains = [each for each in (self._log, archive) if _has_content(each)]
        if remains:
            raise ServiceError(
                f"there is no database {str(self.path)!r}, but there is {str(remains[0])!r}: it "
                "was deleted or moved, restore it; to begin with an empty one, move that away too"
            )

    def connected(self, *_: object) -> None:
        """Remember which file this is, from when it is open."""
        with self._lock:
            self._connections += 1
        self._places.setdefault(self.path, _place(self.path))

    def disconnected(self, *_: object) -> None:
        """Forget the write-ahead log, which the last connection removes when it is closed."""
        with self._lock:
            self._connections -= 1
            if not self._connections:
                self._places.pop(self._log, None)

    def check(self) -> None:
        """Refuse to go on with a file that is not in its place any more."""
        for path, place in list(self._places.items()):  # another thread may add the log now
            if _place(path) != place:
                raise _gone(path)

    def check_written(self) -> None:
        """Refuse to acknowledge what was committed to a file that is not in its place any more."""
        if self._log not in self._places and self._log.exists():
            self._places[self._log] = _place(self._log)
        self.check()

    @property
    def free_bytes(self) -> int:
        """The bytes that this process may still write to the disk of the file."""
        disk = os.statvfs(self.path.parent)
        return disk.f_bavail * disk.f_frsize

    @property
    def readable_by_others(self) -> bool:
        """Whether other users of the machine may read or write the file."""
        return bool(self.path.stat().st_mode & _OTHERS)


def archive_folder(path: Path) -> Path:
    """Return the folder of the archives of a database, which is beside its file."""
    return path.with_name(f"{path.name}.archive")


def _has_content(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0


def _place(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (-1, -1)
    return (found.st_dev, found.st_ino)


def _gone(path: Path) -> StoreUnavailableError:
    what = "was deleted, moved or replaced while it was in use"
    advice = (
        "put it back in its place, or stop the service, restore a copy and start it again; nothing "
        "is stored until then"
    )
    error = StoreUnavailableError(f"the file {str(path)!r} {what}: {advice}")
    error.public = f"the database {what}: {advice}"
    return error
