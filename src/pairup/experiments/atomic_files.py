"""Atomic files: they appear whole or not at all, and a folder that fails is named in the error."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pairup.errors import ResultsError

_TEMPORARY = ".tmp-"


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
