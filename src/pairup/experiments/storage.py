"""Results: the folder of an experiment, its Parquet schema, and how it is read back.

A folder holds ``experiment.json`` (what is run, and the keys of its blocks), ``parts/KEY.parquet``
(one for each finished block), ``results.parquet`` (all of them, tidy, once the last is there) and
``run.json`` (when, where and how long). Each file appears whole or not at all.
`docs/reference/results.md` has every column.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairup.errors import ResultsError
from pairup.experiments.spec import Experiment, canonical_json

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
_MAGIC = "pairup.schema"  # metadata of every Parquet file
_ROW_GROUP = 1 << 18  # fixed, so that the same rows give the same bytes
_TEMPORARY = ".tmp-"
_NUMBERS = ("replication", "round", "regret", "games")  # the columns of a part

Numbers = tuple[NDArray[np.float64], NDArray[np.int64]]


def load_results(path: str | Path, partial: bool = False) -> pl.DataFrame:
    """Read the results of an experiment.

    Parameters
    ----------
    path
        The folder that was given to `run_experiment`, or a ``results.parquet``.
    partial
        Give the blocks finished so far when some are missing.

    Returns
    -------
    polars.DataFrame
        One row for each policy, problem, replication and checkpoint, sorted in this order;
        policies and problems come as the experiment lists them. See `docs/reference/results.md`.

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
    ...     summary = run_experiment(small, folder)
    ...     frame = load_results(folder)
    >>> frame["policy"].unique(maintain_order=True).to_list()
    ['SAM', 'V1', 'V2', 'V1 KL', 'V2 KL', 'Rank one']
    """
    path = Path(path)
    if path.is_file():
        return _read_compacted(path)
    if (path / "results.parquet").is_file():
        return _read_compacted(path / "results.parquet")
    return _assembled(path, partial)


def compact(folder: str | Path) -> Path:
    """Join the parts of a finished experiment into ``results.parquet``; returns its path.

    The same experiment gives the same bytes, whoever computed its parts, where, and in how many
    goes. The parts stay.
    """
    folder = Path(folder)
    frame = _assembled(folder, partial=False)
    definition = canonical_json(read_manifest(folder)["experiment"])
    path = folder / "results.parquet"
    write_whole(path, _as_parquet(frame, {"pairup.experiment": definition}))
    return path


def read_experiment(path: str | Path) -> Experiment:
    """Make the experiment again whose results lie in a folder or in a ``results.parquet``."""
    path = Path(path)
    if path.is_dir():
        return Experiment.from_definition(read_manifest(path)["experiment"])
    return Experiment.from_definition(json.loads(_metadata(path)["pairup.experiment"]))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read ``experiment.json``: the experiment's definition and its blocks."""
    try:
        manifest = json.loads((folder / "experiment.json").read_bytes())
        _check_version(folder, manifest["schema"])
    except FileNotFoundError:
        raise ResultsError(
            f"{folder} holds no results: give the folder that `run_experiment` wrote to"
        ) from None
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ResultsError(f"{folder / 'experiment.json'} cannot be read: {error}") from None
    return dict(manifest)


def read_runs(folder: str | Path) -> list[dict[str, Any]]:
    """Read ``run.json``: what is known of each run into the folder, the oldest first."""
    with suppress(OSError, KeyError, TypeError, json.JSONDecodeError):
        return list(json.loads((Path(folder) / "run.json").read_bytes())["runs"])
    return []


def part_path(folder: Path, key: str) -> Path:
    """Return where the block with this key is kept."""
    return folder / "parts" / f"{key}.parquet"


def write_part(folder: Path, key: str, replications: range, marks: Any, numbers: Numbers) -> None:
    """Keep the regret and games of a block, each of shape (replications, checkpoints)."""
    import polars as pl  # as in all of this module: a third of pairup's import time

    regret, games = numbers
    frame = pl.DataFrame(
        {
            "replication": np.repeat(np.array(replications, np.int64), len(marks)),
            "round": np.tile(np.asarray(marks, np.int64), len(replications)),
            "regret": regret.ravel(),
            "games": games.ravel(),
        }
    )
    metadata = {"pairup.digest": _digest(frame), "pairup.key": key}
    write_whole(part_path(folder, key), _as_parquet(frame, metadata))


def read_part(folder: Path, key: str) -> pl.DataFrame | None:
    """Read a block, or None where it is missing, cut short or altered."""
    import polars as pl

    path = part_path(folder, key)
    if not path.is_file():
        return None
    try:
        metadata, frame = pl.read_parquet_metadata(path), pl.read_parquet(path)
        whole = metadata["pairup.key"] == key and metadata["pairup.digest"] == _digest(frame)
        return frame if whole else None
    except (Exception, pl.exceptions.PanicException):  # damage may show in any way
        return None


def _digest(frame: pl.DataFrame) -> str:
    digest = hashlib.sha256()
    for name in _NUMBERS:
        digest.update(frame[name].to_numpy().tobytes())
    return digest.hexdigest()


def _as_parquet(frame: pl.DataFrame, metadata: Mapping[str, str]) -> bytes:
    metadata = {_MAGIC: str(SCHEMA_VERSION)} | dict(metadata)
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, row_group_size=_ROW_GROUP, metadata=metadata)
    return buffer.getvalue()


def _assembled(folder: Path, partial: bool) -> pl.DataFrame:
    """Join the parts that ``experiment.json`` lists, in its order."""
    import polars as pl

    manifest = read_manifest(folder)
    parts = [(block, read_part(folder, block["key"])) for block in manifest["blocks"]]
    found = [(block, part) for block, part in parts if part is not None]
    if len(found) < len(parts) and not partial:
        raise ResultsError(
            f"{folder} holds {len(found)} of {len(parts)} blocks: run the experiment again, it "
            "goes on where it stopped, or load what is there with partial=True"
        )
    frames = [
        part.with_columns(**_labels(manifest["experiment"], block)).select(list(schema()))
        for block, part in found
    ]
    return pl.concat([pl.DataFrame(schema=schema()), *frames], rechunk=True)


def _labels(experiment: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, pl.Expr]:
    """Return the columns that are the same in all rows of a block."""
    import polars as pl

    policy = experiment["policies"][block["policy"]]
    posed = experiment["problems"][block["problem"]]
    players = len(posed["rates"])
    values = {
        "experiment": experiment["name"],
        "policy": policy["label"],
        "options": canonical_json({key: policy[key] for key in policy if key != "label"}),
        "problem": posed["name"],
        "family": posed["family"],
        "players": players,
        "pairs": players // 2,
        "gap": posed["parameters"].get("gap"),
        "mean": posed["parameters"].get("mean"),
        "seed": experiment["seed"],
    }
    return {name: pl.lit(value, schema()[name]) for name, value in values.items()}


def schema() -> dict[str, Any]:
    """Return the columns of the results with their polars types, in order."""
    import polars as pl

    strings = ("experiment", "policy", "options", "problem", "family")
    numbers = dict.fromkeys(("gap", "mean"), pl.Float64)
    return (
        dict.fromkeys(strings, pl.String)
        | dict.fromkeys(("players", "pairs"), pl.Int64)
        | numbers
        | dict.fromkeys(("seed", "replication", "round"), pl.Int64)
        | {"regret": pl.Float64, "games": pl.Int64}
    )


def _read_compacted(path: Path) -> pl.DataFrame:
    import polars as pl

    _metadata(path)
    try:
        frame = pl.read_parquet(path)
    except (Exception, pl.exceptions.PanicException) as error:
        raise ResultsError(
            f"{path} is damaged ({error}): delete it and run the experiment again, its parts are "
            "kept"
        ) from None
    if dict(frame.schema) != schema():
        raise ResultsError(f"{path} does not have the columns of pairup's results")
    return frame


def _metadata(path: Path) -> dict[str, str]:
    import polars as pl

    try:
        metadata = pl.read_parquet_metadata(path)
    except (Exception, pl.exceptions.PanicException) as error:
        raise ResultsError(f"{path} is no Parquet file, or cut short: {error}") from None
    if _MAGIC not in metadata:
        raise ResultsError(f"{path} was not written by pairup: it names no schema version")
    _check_version(path, int(metadata[_MAGIC]))
    return metadata


def _check_version(path: Path, version: int) -> None:
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path} has schema version {version}, this pairup reads {SCHEMA_VERSION}: read it "
            "with the pairup that wrote it, or run the experiment again"
        )


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, even when the power fails."""
    with writing(path.parent):
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


def sweep_temporaries(folder: Path) -> None:
    """Delete what a killed run left half written."""
    with writing(folder):
        for each in (*folder.glob(f"{_TEMPORARY}*"), *folder.glob(f"parts/{_TEMPORARY}*")):
            each.unlink(missing_ok=True)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the system's complaints about a folder into a `ResultsError`."""
    try:
        yield
    except OSError as error:
        raise ResultsError(
            f"cannot write to {folder}: {error.strerror or error}. Finished blocks are kept: make "
            "room, or choose a folder that can be written to, and run again"
        ) from error
