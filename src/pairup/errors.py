"""Every error that pairup raises on purpose.

A message gives the value, the rule and the way out. Each class is a `ValueError` too, so that
code that does not know pairup still catches a bad value by its usual name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_NAMES = 12  # beyond that a list of names hides the message it ends
_MAX_COMPARED = 2_000  # names, of which one may be meant: to compare takes microseconds each


class PairupError(Exception):
    """Parent of all errors of pairup.

    Examples
    --------
    >>> from pairup import PairupError, Problem
    >>> try:
    ...     Problem([0.5, 1.2])
    ... except PairupError as error:
    ...     print(type(error).__name__)
    ProblemError
    """


class ProblemError(PairupError, ValueError):
    """Acceptance rates, or what they are built from, break a rule."""


class MatchingError(PairupError, ValueError):
    """Couples share a player, are not two players, name an unknown player, or cannot be found."""


class PolicyError(PairupError, ValueError):
    """A policy or an option is unknown, or the value of an option is out of its range."""


class ObservationError(PairupError, ValueError):
    """An observation does not fit the matching that was proposed."""


class PlayerError(PairupError, ValueError):
    """A player is unknown, or is named twice."""


class SimulationError(PairupError, ValueError):
    """A simulation cannot be run as asked."""


class ExperimentError(PairupError, ValueError):
    """An experiment file has a wrong key or value."""


class ResultsError(PairupError, ValueError):
    """Results cannot be written or read, are damaged, or of another version or experiment."""


class AssessmentError(PairupError, ValueError):
    """A history cannot be read, or says too little to be assessed."""


class SavingError(PairupError, ValueError):
    """The bytes of a saved learner are damaged, or of another version."""


class ServiceError(PairupError, ValueError):
    """The service cannot start or continue as asked, or its database cannot be used."""


class ClientError(PairupError, ValueError):
    """A service cannot be reached, or refused a request."""


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """End a message about an unknown name with the nearest known one, or a dozen of them.

    Only strings are compared with the known names: similar numbers are not misspellings.

    Examples
    --------
    >>> print("no policy is called sma" + did_you_mean("sma", ["sam", "unimodal"]))
    no policy is called sma; did you mean "sam"?
    """
    names = list(known)
    if isinstance(name, str):
        # Case is the most common slip, and difflib counts it as a difference.
        compared = reversed(names[:_MAX_COMPARED])
        by_folded = {each.casefold(): each for each in compared if isinstance(each, str)}
        near = difflib.get_close_matches(name.casefold(), by_folded, n=1)
        if near:
            return f"; did you mean {_quoted(by_folded[near[0]])}?"
    if not names:
        return "; none is known"
    shown = ", ".join(_quoted(each) for each in names[:_MAX_NAMES])
    rest = f", ... ({len(names)} in all)" if len(names) > _MAX_NAMES else ""
    return f"; known: {shown}{rest}"


def _quoted(name: object) -> str:
    return f'"{name}"' if isinstance(name, str) else str(name)
