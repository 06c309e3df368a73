"""Archives: files of earlier events, compressed, each with its checksum in the database.

A file has one JSON object per line, gzipped: the first says which pool and which events it holds,
each other is an event. Its name and its bytes follow from the events alone, so that a run which was
killed writes the same file again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pairup.service.domain.event_views import RawEvent
from pairup.service.domain.events import Moment, dumps
from pairup.service.store.failures import StoreDamagedError, StoreUnavailableError

_FORMAT = 1
NAME = r"[0-9a-f]{16}-\d+-\d+\.jsonl\.gz"
MAX_EVENTS = 10_000  # of a file, which is read as a whole


class ArchiveFile(NamedTuple):
    """A file of earlier events, as the database knows it."""

    first: int  # event
    last: int
    last_at: Moment  # date of the last event
    name: str
    sha256: str
    size: int  # bytes


def write_archive(folder: Path, secret: str, events: list[RawEvent]) -> ArchiveFile:
    """Write events of the pool with some secret into a file, on the disk when this returns."""
    first, last = events[0].seq, events[-1].seq
    pool = hashlib.sha256(secret.encode()).hexdigest()[:16]  # not that of another database
    head = {"format": _FORMAT, "pool": pool, "first": first, "last": last}
    lines = [dumps(head)] + [
        f'{{"seq":{seq},"at":{at},"kind":{dumps(kind)},"body":{body}}}'
        for seq, at, kind, body in events
    ]
    content = gzip.compress("\n".join(lines).encode("ascii"), mtime=0)
    name = f"{pool}-{first}-{last}.jsonl.gz"
    write_private(folder / name, content)
    digest = hashlib.sha256(content).hexdigest()
    return ArchiveFile(first, last, events[-1].at, name, digest, len(content))


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read: whole, or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)
    sync_folder(path.parent.parent)  # the folder itself may be new


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@lru_cache(4)  # a reader asks for page after page
def read_archive(path: Path, sha256: str) -> tuple[RawEvent, ...]:
    """Read the events of a file, or refuse one that is missing or was changed."""
    lines = gzip.decompress(read_checked(path, sha256)).decode("ascii").split("\n")[1:]
    return tuple(_parse(json.loads(line)) for line in lines)


def read_checked(path: Path, sha256: str) -> bytes:
    """Return the content of a file, which is not a link, or refuse one that is not as written."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            content = file.read()
    except OSError as error:
        raise _unreadable(path, error) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StoreDamagedError(
            f"the archive {str(path)!r} differs from its checksum in the database: restore a copy"
        )
    return content


def _parse(line: dict[str, object]) -> RawEvent:
    seq, at, kind, body = line["seq"], line["at"], line["kind"], line["body"]
    assert isinstance(seq, int)
    assert isinstance(at, int)
    return RawEvent(seq, Moment(at), str(kind), dumps(body))


def _unreadable(path: Path, error: OSError) -> StoreUnavailableError:
    advice = (
        "bring the file back to its folder, or record that it was deleted on purpose with "
        "`pairup archive --drop-before`"
    )
    made = StoreUnavailableError(
        f"the archive {str(path)!r} cannot be read ({error.strerror}): {advice}"
    )
    made.public = f"the archive {path.name!r} cannot be read: {advice}"
    return made
