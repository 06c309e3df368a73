"""A file layer beneath SQLite that remembers each write and sync, to replay them up to a power cut.

SQLite reaches its files through a table of functions, its VFS. `record` puts functions of ours
in their place, in this process, which note what they are asked to do and pass it on. What is on the
disk after a cut follows from these notes: all that was synced, and of the rest nothing, everything,
some writes, or some sectors of some writes.
"""

import _sqlite3
import ctypes
import random
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LOSSES = ("nothing is kept", "everything is kept", "some writes are kept", "some sectors are kept")
_SECTOR = 512
# Paths are passed on as pointers, because SQLite keeps them and what follows them in memory.
_POINTER, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_Open = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)
_Delete = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT)
_Write = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _LONG)
_Truncate = ctypes.CFUNCTYPE(_INT, _POINTER, _LONG)
_Sync = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)


class _Vfs(ctypes.Structure):
    _fields_ = (
        *((name, _INT) for name in ("version", "file_size", "max_path")),
        *((name, _POINTER) for name in ("next", "name", "data")),
        ("open", _Open),
        ("delete", _Delete),
    )


class _Methods(ctypes.Structure):
    _fields_ = (
        ("version", _INT),
        *((name, _POINTER) for name in ("close", "read")),
        ("write", _Write),
        ("truncate", _Truncate),
        ("sync", _Sync),
        ("rest", _POINTER * 13),
    )


class _File(ctypes.Structure):
    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


@dataclass
class Trace:
    """What was done to files in a folder, and what was acknowledged, in order."""

    folder: Path
    steps: list = field(default_factory=list)

    def acknowledge(self, what):
        self.steps.append(("acknowledged", what))

    def acknowledged(self, cut):
        """List what was acknowledged before a cut."""
        return [step[1] for step in self.steps[:cut] if step[0] == "acknowledged"]

    def disks(self, cuts):
        """Yield each cut (before which step, what is lost) with the files that it leaves, by name.

        Cuts ascend.
        """
        files, done = {}, 0
        for cut, loss in cuts:
            self._replay(files, done, cut)
            done, draw = cut, random.Random(f"{cut} {loss}")
            found = {name: file.after(loss, draw) for name, file in files.items()}
            yield cut, loss, {name: data for name, data in found.items() if data is not None}

    def _replay(self, files, start, stop):
        for number, (what, name, *given) in enumerate(self.steps[start:stop], start):
            if what == "acknowledged":
                continue
            file = files.setdefault(name, _LostFile())
            if what == "synced":
                if file.safe is None:  # with a new log SQLite syncs the folder, with all its names
                    for other in files.values():
                        other.sync_deletion(given[0])
                file.sync(given[0])
            else:
                file.unsynced.append((number, what, given))


@dataclass
class _LostFile:
    """A file: what is safe of it, and what was done since and may be lost."""

    safe: bytes | None = None  # None: it does not exist
    unsynced: list = field(default_factory=list)

    def sync(self, began):
        """Make safe what had been done when the sync began."""
        done = [step for step in self.unsynced if step[0] < began]
        self.safe = _apply(self.safe, done)
        self.unsynced = [step for step in self.unsynced if step[0] >= began]

    def sync_deletion(self, began):
        """Make safe that the file was deleted before a moment, if it was."""
        deleted = [step[0] for step in self.unsynced if step[1] == "deleted" and step[0] < began]
        if deleted:
            self.sync(max(deleted) + 1)

    def after(self, loss, draw):
        steps = self.unsynced
        if loss == "nothing is kept":
            steps = []
        elif loss != "everything is kept":
            steps = [step for step in steps if draw.random() < 0.5]
        if loss == "some sectors are kept":
            steps = [_torn(step, draw) for step in steps]
        return _apply(self.safe, steps)


def _torn(step, draw):
    number, what, given = step
    if what != "written":
        return step
    sectors = range(0, len(given[1]), _SECTOR)
    kept = [(given[0] + at, given[1][at : at + _SECTOR]) for at in sectors if draw.random() < 0.5]
    return number, "in part", kept


def _apply(content, steps):
    content = None if content is None else bytearray(content)
    for _, what, given in steps:
        if what == "deleted":
            content = None
            continue
        content = bytearray() if content is None else content
        if what == "truncated":
            content = content[: given[0]].ljust(given[0], b"\0")
        for offset, data in {"written": [given], "in part": given}.get(what, ()):
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
    return None if content is None else bytes(content)


@contextmanager
def record(folder):
    """Note what SQLite does in this process to the files of a folder."""
    trace, lock = Trace(Path(folder)), threading.Lock()
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = library.sqlite3_vfs_find(None).contents
    names, kept = {}, {}  # of open files by their address; methods by those that they replace
    # Copies: the fields change when they are assigned to.
    opening, deleting = _Open.from_buffer_copy(vfs.open), _Delete.from_buffer_copy(vfs.delete)

    def note(what, file, *given):
        with lock:
            trace.steps.append((what, names[file], *given))

    def open_file(this, path, file, flags, out):
        code = opening(this, path, file, flags, out)
        opened = _path(path)
        if code == 0 and opened.parent == trace.folder:
            names[file] = opened.name
            methods = ctypes.cast(file, ctypes.POINTER(_File)).contents
            methods.methods = ctypes.pointer(_traced(methods.methods, note, trace, kept))
        return code

    def delete_file(this, path, sync):
        code, deleted = deleting(this, path, sync), _path(path)
        if code == 0 and deleted.parent == trace.folder:
            with lock:
                trace.steps.append(("deleted", deleted.name))
                if sync:
                    trace.steps.append(("synced", deleted.name, len(trace.steps)))
        return code

    vfs.open, vfs.delete = replaced = _Open(open_file), _Delete(delete_file)
    try:
        yield trace
    finally:
        vfs.open, vfs.delete = opening, deleting
        trace.replaced = replaced, kept  # files may stay open: nothing of this may be freed


def _path(pointer):
    return Path(ctypes.string_at(pointer).decode() if pointer else "")


def _traced(given, note, trace, kept):
    """Make methods of a file that note what is changed, once for each kind of file."""
    address = ctypes.addressof(given.contents)
    if address in kept:
        return kept[address]
    own = _Methods.from_buffer_copy(given.contents)
    original = _Methods.from_buffer_copy(given.contents)

    def write(file, data, size, offset):
        code = original.write(file, data, size, offset)
        if code == 0:
            note("written", file, offset, ctypes.string_at(data, size))
        return code

    def truncate(file, size):
        code = original.truncate(file, size)
        if code == 0:
            note("truncated", file, size)
        return code

    def sync(file, flags):
        began = len(trace.steps)  # what is written meanwhile may come too late
        note("synced", file, began)
        return 0  # the notes are the disk: nothing needs to reach a real one

    own.write, own.truncate, own.sync = _Write(write), _Truncate(truncate), _Sync(sync)
    kept[address] = own
    trace.originals = [*getattr(trace, "originals", []), original]
    return own
