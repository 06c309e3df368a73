"""Storage: the folder of an experiment's results, and how it is read back.

A folder holds ``experiment.json`` (what is run, and the keys of its work units),
``parts/KEY.parquet`` (one for each finished unit), ``results.parquet`` (all of them, tidy, once the
last is there) and ``run.json`` (when, where and how long). Each file appears whole or not at all.
The page on results in the documentation has every column.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairup.errors import ResultsError
from pairup.experiments.experiment import Experiment, canonical_json
from pairup.experiments.result_files import (
    SealedTable,
    delete_temporaries,
    explain_write_errors,
    read_sealed,
    seal_parquet,
    write_atomically,
)
from pairup.experiments.results import (
    SCHEMA_VERSION,
    HorizonCheck,
    Results,
    join_results,
)
from pairup.experiments.timings import read_timings

if TYPE_CHECKING:
    import polars as pl  # imported late here and below: it is a third of pairup's import time

# Keys of the metadata of Parquet files.
_SCHEMA, _EXPERIMENT, _CHECKS = "pairup.schema", "pairup.experiment", "pairup.horizon_checks"
_KEY = "pairup.key"
_CHECKSUM = "sha256"  # key of the manifest: of all its other keys
_REWRITE = "delete it and run the experiment again into its folder, finished work units are reused"
_PACKAGES = ("pairup", "numpy", "numba", "polars", "scipy", "matplotlib")


def load_results(path: str | Path, partial: bool = False) -> Results:
    """Read the results of an experiment, and the experiment itself.

    Parameters
    ----------
    path
        The folder that was given to `run_experiment` or `compare`, or a ``results.parquet``.
    partial
        Whether to return the work units finished so far when some are missing.

    Raises
    ------
    ResultsError
        There are no results, or not all, or they are damaged or of another schema version.

    Examples
    --------
    >>> import tempfile
    >>> from pairup import load_experiment, load_results, run_experiment
    >>> small = load_experiment("experiment-2").scaled(rounds=100, replications=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = run_experiment(small, folder)
    ...     results = load_results(folder)
    >>> results.frame["policy"].unique(maintain_order=True).to_list()
    ['SAM', 'V1', 'V2', 'V1 KL', 'V2 KL', 'Rank one']
    >>> results.experiment == small
    True
    """
    path = Path(path)
    table = _read_compacted(path)
    if table is not None:
        experiment = Experiment.from_definition(json.loads(table.metadata[_EXPERIMENT]))
        checks = tuple(HorizonCheck(**check) for check in json.loads(table.metadata[_CHECKS]))
        folder = path if path.is_dir() else path.parent
        return Results(experiment, table.frame, checks, read_timings(folder, experiment))
    manifest = _read_manifest(path)
    experiment = Experiment.from_definition(manifest["experiment"])
    with _named(path):
        return join_results(experiment, manifest, functools.partial(read_part, path), partial)


def compact(folder: Path, experiment: Experiment) -> Results:
    """Join the parts of a finished experiment into ``results.parquet``.

    The same experiment gives the same bytes, no matter where its parts were computed and in how
    many runs. The parts are kept.
    """
    manifest = _read_manifest(folder)
    with _named(folder):
        results = join_results(experiment, manifest, functools.partial(read_part, folder))
    metadata = {
        _EXPERIMENT: canonical_json(manifest["experiment"]),
        _CHECKS: canonical_json([asdict(check) for check in results.horizon_checks]),
    }
    write_atomically(folder / "results.parquet", _seal(results.frame, metadata))
    return results


@contextmanager
def hold_folder(folder: Path, manifest: Mapping[str, Any]) -> Iterator[None]:
    """Prepare a folder for a run, and keep a second run out meanwhile."""
    with explain_write_errors(folder):
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "a")  # noqa: SIM115 - held over the yield
    with lock:
        try:
            import fcntl  # POSIX only; elsewhere nothing keeps a second run out

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system frees it, even on kill -9
        except ImportError:
            pass
        except BlockingIOError:
            raise ResultsError(
                f"another run is writing to {folder}: wait for it, or choose another folder"
            ) from None
        except OSError:
            pass  # a network file system without locks
        delete_temporaries(folder)
        _write_manifest(folder, manifest)
        yield


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    path, name = folder / "experiment.json", manifest["experiment"]["name"]
    plain = json.loads(canonical_json(manifest))  # parameters and options may be numpy's
    text = json.dumps(plain | {_CHECKSUM: _digest(plain)}, indent=1, sort_keys=True).encode()
    if path.exists():
        held = _read_manifest(folder)["experiment"]["name"]
        if held != name:
            raise ResultsError(
                f"{folder} holds the results of {held!r}, not of {name!r}: choose another folder"
            )
        if path.read_bytes() == text:
            return
        with explain_write_errors(folder):  # it would be of the experiment as it was
            (folder / "results.parquet").unlink(missing_ok=True)
    write_atomically(path, text)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "experiment.json"
    if not path.is_file():
        raise ResultsError(
            f"{folder} holds no results: give the folder that `run_experiment` wrote to"
        )
    try:
        manifest = dict(json.loads(path.read_bytes()))
        _check_version(folder, manifest["schema"])
        sound = manifest.pop(_CHECKSUM) == _digest(manifest)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path} cannot be read ({error!r}): {_REWRITE}") from None
    if not sound:
        raise ResultsError(f"{path} is damaged, its checksum does not match: {_REWRITE}")
    return manifest


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(manifest).encode()).hexdigest()


def write_part(folder: Path, key: str, rows: pl.DataFrame) -> None:
    """Keep the rows of a work unit."""
    write_atomically(_part_path(folder, key), _seal(rows, {_KEY: key}))


def read_part(folder: Path, key: str) -> pl.DataFrame | None:
    """Read the rows of a work unit, or None where they are missing or damaged."""
    path = _part_path(folder, key)
    if path.is_file():
        with suppress(ResultsError):
            table = read_sealed(path)
            if table.metadata[_KEY] == key:
                return table.frame
    return None


def _part_path(folder: Path, key: str) -> Path:
    return folder / "parts" / f"{key}.parquet"


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Make errors begin with the folder that they are about."""
    try:
        yield
    except ResultsError as error:
        raise ResultsError(f"{folder}: {error}") from None


class RunLog:
    """The log of the runs into a folder, ``run.json``, to which this one is added.

    It is separate from the data, which must not depend on how long they took.
    """

    def __init__(self, folder: Path, engine: str) -> None:
        self._path, self._runs = folder / "run.json", read_runs(folder)
        run = {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": None,  # stays so when the run is killed
            "command": sys.argv,
            "engine": engine,
            "cores": os.cpu_count(),
            "machine": platform.platform(),
            "versions": installed_versions(),
        }
        self._runs.append(run)
        self.add()

    def add(self, **facts: Any) -> None:
        """Add what is known about the run so far."""
        self._runs[-1] |= facts
        write_atomically(self._path, json.dumps({"runs": self._runs}, indent=1).encode())


def read_runs(folder: str | Path) -> list[dict[str, Any]]:
    """Read the records of the runs into a folder, the oldest first."""
    with suppress(OSError, KeyError, TypeError, json.JSONDecodeError):
        return list(json.loads((Path(folder) / "run.json").read_bytes())["runs"])
    return []


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that determine results."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _seal(frame: pl.DataFrame, metadata: Mapping[str, str]) -> bytes:
    return seal_parquet(frame, {_SCHEMA: str(SCHEMA_VERSION)} | dict(metadata))


def _read_compacted(path: Path) -> SealedTable | None:
    """Read a ``results.parquet``, or that of a folder; None where the folder has none yet."""
    file = path if path.is_file() else path / "results.parquet"
    if not file.is_file():
        return None
    table = read_sealed(file)
    if _EXPERIMENT not in table.metadata:
        raise ResultsError(f"{file} holds a single work unit: give the folder that it lies in")
    _check_version(file, int(table.metadata[_SCHEMA]))
    return table


def _check_version(path: Path, version: int) -> None:
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path} has schema version {version}, this pairup reads {SCHEMA_VERSION}: read it "
            "with the pairup that wrote it, or run the experiment again"
        )
