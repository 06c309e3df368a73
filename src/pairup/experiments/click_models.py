"""Click models of public rankings: problems with a row for each item, a column per position."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from pairup.errors import ProblemError, did_you_mean
from pairup.problem import Problem

_FILE = "click_models.toml"  # its comments name the sources


def click_model(setting: str) -> Problem:
    """Return the problem of a setting: an item is clicked with its rate times its position's.

    Parameters
    ----------
    setting
        One of `click_model_settings`.

    Raises
    ------
    ProblemError
        There is no such setting.

    Examples
    --------
    >>> from pairup.experiments.click_models import click_model
    >>> click_model("std").sides
    (10, 5)
    """
    settings = _settings()
    if setting not in settings:
        near = did_you_mean(setting, tuple(settings))
        raise ProblemError(f"no click model is called {setting!r}{near}")
    figures = settings[setting]
    return Problem.two_sided(figures["items"], figures["positions"], f"click_model({setting})")


def click_model_settings() -> tuple[str, ...]:
    """Return the names of the settings: simulated ones, and queries of a search engine."""
    return tuple(_settings())


@cache
def _settings() -> dict[str, dict[str, list[float]]]:
    text = resources.files("pairup.experiments").joinpath(_FILE).read_text("utf-8")
    return tomllib.loads(text)
