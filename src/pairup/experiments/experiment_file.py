"""Experiment files in TOML; shipped ones are found by name. The documentation has every key."""

from __future__ import annotations

import itertools
from importlib import resources
from pathlib import Path
from typing import Any

from pairup.checks import is_number
from pairup.errors import ExperimentError, did_you_mean
from pairup.experiments.experiment import Entry, Experiment, sweep_entries
from pairup.experiments.figure_spec import read_figure
from pairup.experiments.posed_problems import sweep_problems
from pairup.experiments.toml_table import Table, parse_toml
from pairup.policies import Policy
from pairup.policies.registry import import_policy, make_policy, takes_sequence

_SHIPPED = resources.files("pairup.experiments").joinpath("shipped")
_MAX_BYTES = 1 << 24  # the largest problems have some thousands of rates


def shipped_experiments() -> tuple[str, ...]:
    """Return the names of the experiments that come with pairup.

    Examples
    --------
    >>> from pairup import shipped_experiments
    >>> shipped_experiments()[:4]
    ('experiment-1', 'experiment-2', 'field', 'field-two-sided')
    """
    names = (file.name for file in _SHIPPED.iterdir() if file.name.endswith(".toml"))
    return tuple(sorted(name.removesuffix(".toml") for name in names))


def copy_experiment(name: str, path: str | Path | None = None) -> Path:
    """Copy the file of a shipped experiment, to start one of your own from.

    Parameters
    ----------
    name
        Name of the shipped experiment.
    path
        Path of the copy; by default the name with ``.toml`` in the current folder. A file that
        exists is not overwritten.

    Raises
    ------
    ExperimentError
        There is no experiment of this name, or the copy cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pairup.experiments.experiment_file import copy_experiment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy_experiment("field", Path(folder) / "mine.toml").name
    'mine.toml'
    """
    if name not in shipped_experiments():
        near = did_you_mean(name, shipped_experiments())
        raise ExperimentError(f"no shipped experiment is called {name!r}{near}")
    target = Path(f"{name}.toml" if path is None else path)
    try:
        with open(target, "xb") as file:
            file.write(_SHIPPED.joinpath(f"{name}.toml").read_bytes())
    except OSError as error:
        raise ExperimentError(
            f"{target}: cannot be written: {error.strerror or error}; give another path"
        ) from None
    return target


def load_experiment(source: str | Path) -> Experiment:
    """Read an experiment.

    Parameters
    ----------
    source
        Name of a shipped experiment, or path of a TOML file. A policy of your own is named as
        "module:Class"; its module is imported, and may be a file in the folder of the TOML file.

    Raises
    ------
    ExperimentError
        There is no such file, or a key or value in it is wrong. The message gives the file, the
        key, the rule and the nearest valid name.

    Examples
    --------
    >>> from pairup import load_experiment
    >>> load_experiment("experiment-1").rounds
    1000000
    """
    name, text = _text(source)
    try:
        return _experiment(Table("", parse_toml(text)), Path(source).absolute().parent)
    except ExperimentError as error:
        raise ExperimentError(f"{name}: {error}") from None


def _text(source: str | Path) -> tuple[str, str]:
    if source in shipped_experiments():
        file = _SHIPPED.joinpath(f"{source}.toml")
        return file.name, file.read_text("utf-8")
    try:
        with open(source, "rb") as opened:  # may be a pipe, or a device without an end
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ExperimentError(
                f"{source}: is longer than {_MAX_BYTES:,} bytes, so it is not an experiment file"
            )
        return str(source), data.decode()
    except FileNotFoundError:
        near = did_you_mean(str(source), shipped_experiments())
        raise ExperimentError(
            f"no file and no shipped experiment is called {source}{near}"
        ) from None
    except OSError as error:
        raise ExperimentError(f"{source}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{source}: cannot be read, it is not UTF-8 text: {error}") from None


def _experiment(table: Table, folder: Path) -> Experiment:
    counts = ("rounds", "replications")
    table.check_keys(
        (
            *("name", "title", "about", *counts, "seed", "horizon_check", "over"),
            *("problem", "policy", "figure"),
        ),
        ("name", *counts, "problem", "policy"),
    )
    return Experiment(
        name=table.text("name"),
        title=table.text("title", table.text("name")),
        about=table.text("about").strip(),
        rounds=table.values["rounds"],
        replications=table.values["replications"],
        seed=table.values.get("seed", 0),
        problems=tuple(sweep_problems(_problem_tables(table))),
        entries=tuple(entry for each in table.tables("policy") for entry in _entries(each, folder)),
        figures=tuple(read_figure(each) for each in table.tables("figure")),
        horizon_check=table.labels("horizon_check"),
        over=table.text("over") or None,
    )


def _problem_tables(table: Table) -> list[Table]:
    """Return the one table [problem], or all of [[problem]]."""
    given = table.values["problem"]
    if isinstance(given, dict):
        return [Table("[problem]", given)]
    return table.tables("problem")


def _entries(table: Table, folder: Path) -> list[Entry]:
    """Return the entry of a policy, or those of all combinations of the options to sweep."""
    options = dict(table.values)
    for key in ("label", "name"):
        if key not in options:
            table.fail(key, "is missing")
        table.text(key)
        options.pop(key)
    try:
        policy_class = import_policy(table.text("name"), folder)
        swept = [_swept(table, key, policy_class, value) for key, value in options.items()]
        policies = [
            make_policy(policy_class, **dict(zip(options, values, strict=True)))
            for values in itertools.product(*swept)
        ]
        return sweep_entries(table.text("label"), policies)
    except ExperimentError:
        raise
    except (TypeError, ValueError) as error:  # a policy may meet a value of any kind
        table.fail(f'("{table.text("label")}")', str(error))


def _swept(table: Table, key: str, policy_class: type[Policy], value: Any) -> list[Any]:
    """Return the values of an option: one, or those of the list to sweep."""
    if not isinstance(value, list):
        return [value]
    if takes_sequence(policy_class, key) and all(map(is_number, value)):
        return [value]  # a list of lists would be swept
    if not value:
        table.fail(key, "must have at least one value, got []")
    for place, each in enumerate(value):
        if each in value[:place]:
            table.fail(key, f"has {each!r} twice")
    return value
