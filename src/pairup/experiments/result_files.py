"""Files of results: they appear whole or not at all, and Parquet files carry a checksum.

A parser that meets damaged bytes may return wrong numbers, or crash the process. So a sealed file
has a checksum of all its bytes, verified before they are parsed. It is in the metadata of the file
itself, so it travels with the file, and every reader of Parquet can open it.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pairup.errors import ResultsError

if TYPE_CHECKING:
    import polars as pl  # imported late here and below: it is a third of pairup's import time

_TEMPORARY = ".tmp-"
_ROW_GROUP = 1 << 18  # fixed, so that the same rows give the same bytes
_MAGIC = b"PAR1"  # at both ends of every Parquet file
_KEY = "pairup.sha256"
_UNSEALED = b"0" * 64  # stands in the file for its checksum while this is computed
# The key, the two bytes in which Parquet tells the type and length of the value, and the value.
_SEAL = re.compile(re.escape(_KEY.encode()) + b"..([0-9a-f]{64})", re.DOTALL)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it exists whole or not at all, even after a loss of power."""
    with explain_write_errors(path.parent):
        temporary = path.with_name(f"{_TEMPORARY}{uuid.uuid4().hex}")
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def delete_temporaries(folder: Path) -> None:
    """Delete the half-written files that a killed run left in a folder and its subfolders."""
    with explain_write_errors(folder):
        for each in folder.rglob(f"{_TEMPORARY}*"):
            each.unlink(missing_ok=True)


@contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
    """Turn the operating system's errors about a folder into a `ResultsError`."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            f"cannot write to {folder}: {error.strerror or error}. What is finished is kept: make "
            "room, or choose a folder that can be written to, and run again"
        ) from error


class SealedTable(NamedTuple):
    """What a sealed file holds: its rows, and its metadata as strings."""

    frame: pl.DataFrame
    metadata: Mapping[str, str]


def seal_parquet(frame: pl.DataFrame, metadata: Mapping[str, str]) -> bytes:
    """Write a frame as the bytes of a sealed file; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    unsealed = {_KEY: _UNSEALED.decode()} | dict(metadata)
    frame.rechunk().write_parquet(buffer, row_group_size=_ROW_GROUP, metadata=unsealed)
    data = buffer.getvalue()
    start, end = _find_seal(data)
    return data[:start] + _checksum(data, start, end) + data[end:]


def read_sealed(path: Path) -> SealedTable:
    """Read a sealed file.

    Raises
    ------
    ResultsError
        It is not a sealed file, or not a bit-for-bit copy of what was written.
    """
    import polars as pl

    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror or error}") from None
    if not (data.startswith(_MAGIC) and data.endswith(_MAGIC)):
        raise ResultsError(f"{path} is not a Parquet file, or is truncated. {_WAY_OUT}")
    try:
        start, end = _find_seal(data)
    except ValueError:
        raise ResultsError(
            f"{path} has no checksum: it is damaged, or was written by another program or by an "
            f"earlier version of pairup. {_WAY_OUT}"
        ) from None
    if _checksum(data, start, end) != data[start:end]:
        raise ResultsError(f"{path} is damaged, its checksum does not match. {_WAY_OUT}")
    return SealedTable(pl.read_parquet(data), pl.read_parquet_metadata(io.BytesIO(data)))


_WAY_OUT = (
    "Run the experiment again into its folder: the file is written again, and only work units that "
    "are missing or damaged are computed again"
)


def _find_seal(data: bytes) -> tuple[int, int]:
    """Find the seal in a file; a ValueError unless there is exactly one."""
    (found,) = _SEAL.finditer(data)
    return found.span(1)


def _checksum(data: bytes, start: int, end: int) -> bytes:
    digest = hashlib.sha256(data[:start] + _UNSEALED + data[end:])
    return digest.hexdigest().encode()
