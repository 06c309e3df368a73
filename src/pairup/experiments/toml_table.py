"""TOML of an experiment file: its tables, and errors that give key, rule and nearest name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pairup.checks import check_choice
from pairup.errors import ExperimentError, did_you_mean


@dataclass(frozen=True)
class Table:
    """A table of an experiment file, and what messages call it."""

    place: str
    values: Mapping[str, Any]

    def fail(self, key: str, rule: str) -> NoReturn:
        """Refuse the value of a key."""
        fail_at(f"{self.place} {key}".strip(), rule)

    def check_keys(self, known: Iterable[str], needed: Iterable[str] = ()) -> None:
        """Refuse unknown keys, and missing ones that are needed."""
        known = list(known)
        for key in self.values:
            if key not in known:
                self.fail(key, f"there is no such key{did_you_mean(key, known)}")
        for key in needed:
            if key not in self.values:
                self.fail(key, "is missing")

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.fail(key, f'must be a string, got {value!r}: put it in quotes, "{value}"')
        return value

    def choice(self, key: str, choices: Iterable[str], default: str = "") -> str:
        """Return a string that is one of `choices`."""
        value = self.text(key, default)
        check_choice(f"{self.place} {key}:".strip(), value, choices, ExperimentError)
        return value

    def labels(self, key: str) -> tuple[str, ...]:
        """Return a list of the labels of policies."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            self.fail(key, f"must be a list of labels, got {values!r}")
        return tuple(values)

    def tables(self, key: str) -> list[Table]:
        """Return an array of tables."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
            self.fail(key, f"must be tables, got {values!r}: write [[{key}]] above each")
        return [Table(f"[[{key}]] {n}", table) for n, table in enumerate(values, 1)]


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; what is wrong with it is an `ExperimentError`."""
    try:
        parsed = tomllib.loads(text)
        repr(parsed)  # what can be parsed can also be shown in a message, or is refused here
    except RecursionError:
        raise ExperimentError("not valid TOML: brackets or keys nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise ExperimentError(f"not valid TOML: {error}") from None
    return parsed


def fail_at(key: str, rule: str) -> NoReturn:
    """Raise an `ExperimentError` that begins with the key."""
    raise ExperimentError(f"{key.strip()}: {rule}")
