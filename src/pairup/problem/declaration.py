"""Declaration of a family of problems by a function, its signature and its docstring.

The signature gives the parameters of a family, their kinds and their defaults. So they are checked,
read from experiment files and from the command line, listed by ``pairup problems``, recorded in
results and documented. The first line of the docstring is the description.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, ParamSpec, get_type_hints

from pairup.checks import check_choice, check_number, checked_integer, is_integer, is_number
from pairup.errors import ProblemError
from pairup.problem.meeting_graph import MeetingGraph
from pairup.problem.weights import CoupleWeights

Draws = Literal["independent", "common"]  # of the couples of a round
_Parameters = ParamSpec("_Parameters")


class ProblemParts(NamedTuple):
    """The parts of a problem: its weights, and which couples may meet for which worth."""

    weights: tuple[CoupleWeights, ...]  # of the couples, in each piece
    graph: MeetingGraph | None = None  # None: all may meet, and games are worth 1; or two sides
    starts: tuple[int, ...] = (0,)  # number of rounds before each piece
    draws: Draws = "independent"
    name: str = ""
    family: str = ""
    parameters: Mapping[str, Any] = {}  # as results record them; of numbered families none


class Kind(NamedTuple):
    """A kind of parameter: the form of its values in a file, and their check.

    Attributes
    ----------
    rule
        What a value must be, for messages.
    is_valid
        Whether a value of a file is of this kind.
    depth
        How deeply lists are nested in one value; a list of greater depth is swept.
    plain
        Returns a value of a file as results record it.
    checked
        Returns a value as the family takes it, or refuses it with the name of the parameter.
    """

    rule: str
    is_valid: Callable[[Any], bool]
    depth: int = 0
    plain: Callable[[Any], Any] = lambda value: value
    checked: Callable[[str, Any], Any] = lambda name, value: value


def count(minimum: int, advice: str = "") -> Kind:
    """Return the kind of integers of at least `minimum`."""

    def checked(name: str, value: Any) -> int:
        return checked_integer(name, value, ProblemError, minimum=minimum, advice=advice)

    return Kind("an integer", is_integer, checked=checked)


def number(advice: str, rule: str = "", holds: Callable[[float], bool] | None = None) -> Kind:
    """Return the kind of numbers for which `holds` is true; they must `rule`."""

    def checked(name: str, value: Any) -> float:
        check_number(name, value, ProblemError, advice=advice)
        if holds is not None and not holds(value):
            raise ProblemError(f"{name} must {rule}, got {value!r}: {advice}")
        return float(value)

    return Kind("a number", is_number, plain=float, checked=checked)


def choice(choices: tuple[str, ...]) -> Kind:
    """Return the kind of words that are one of `choices`."""

    def checked(name: str, value: Any) -> Any:
        check_choice(name, value, choices, ProblemError)
        return value

    return Kind("a word", lambda value: isinstance(value, str), checked=checked)


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(is_number(each) for each in value)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and all(_is_numbers(each) for each in value)


def _checked_beta(name: str, value: Any) -> tuple[float, float]:
    try:
        first, second = (float(parameter) for parameter in value)
    except (TypeError, ValueError):
        first = second = math.nan
    if not (0 < first < math.inf and 0 < second < math.inf):  # false for NaN as well
        raise ProblemError(
            f"both parameters of the Beta {name} must be positive, got {value!r}: "
            "(1, 1) is uniform, (2, 5) favours low rates"
        )
    return first, second


RATES = Kind("numbers such as [0.9, 0.8, 0.3]", _is_numbers, depth=1)
STARTS = Kind("numbers of rounds such as [0, 1000]", _is_numbers, depth=1)
TABLE = Kind("lists of numbers such as [[0.9, 0.8], [0.2, 0.3]]", _is_table, depth=2)
COUPLES = Kind("couples such as [[0, 1], [1, 2]]", _is_table, depth=2)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
WORD = Kind("a word", lambda value: isinstance(value, str))
BETA = Kind(
    "two numbers such as [1, 1]",
    lambda value: _is_numbers(value) and len(value) == 2,
    depth=1,
    checked=_checked_beta,
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family."""

    name: str
    kind: Kind
    default: Any  # `inspect.Parameter.empty` if it is required
    label: str  # in figures

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Family:
    """A family of problems, as its declaration says."""

    name: str
    about: str
    parameters: dict[str, Parameter]
    build: Callable[..., ProblemParts]

    @property
    def is_numbered(self) -> bool:
        """Whether its problems are named by their place in a file, as lists have no short name."""
        return any(each.is_required and each.kind.depth for each in self.parameters.values())

    def recorded(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters as a file would give them; none of a numbered family."""
        return {
            name: list(value)
            if isinstance(value, tuple)
            else self.parameters[name].kind.plain(value)
            for name, value in values.items()
            if value is not None and not self.is_numbered
        }

    def problem_name(self, values: dict[str, Any]) -> str:
        """Return the name of a problem with these parameters; a seed is always shown."""
        if self.is_numbered:
            return ""
        shown = []
        for name, parameter in self.parameters.items():
            if parameter.is_required:
                shown.append(_shown(values[name]))
            elif name == "seed" or values[name] != parameter.default:
                shown.append(f"{name}={_shown(values[name])}")
        return f"{self.name}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)


FAMILIES: dict[str, Family] = {}


def family(
    declared: Callable[_Parameters, ProblemParts],
) -> Callable[_Parameters, ProblemParts]:
    """Declare a family by the function that makes its problems; the result checks parameters."""
    signature, hints = inspect.signature(declared), get_type_hints(declared, include_extras=True)

    @functools.wraps(declared)
    def build(*args: _Parameters.args, **given: _Parameters.kwargs) -> ProblemParts:
        values = signature.bind(*args, **given)
        values.apply_defaults()
        as_given = dict(values.arguments)
        for name, parameter in made.parameters.items():
            values.arguments[name] = parameter.kind.checked(name, values.arguments[name])
        parts = declared(*values.args, **values.kwargs)
        name = made.problem_name(values.arguments)
        recorded = made.recorded(as_given)  # when all is checked
        return parts._replace(name=name, family=made.name, parameters=recorded)

    parameters = {}
    for name, each in signature.parameters.items():
        kind, *label = hints[name].__metadata__
        parameters[name] = Parameter(name, kind, each.default, *(label or [name]))
    about = inspect.getdoc(declared) or ""
    made = Family(declared.__name__, about.partition("\n")[0].rstrip("."), parameters, build)
    FAMILIES[made.name] = made
    return build


def describe_families() -> list[dict[str, str]]:
    """Return a row for each family: its name, its parameters, and a description.

    Examples
    --------
    >>> describe_families()[2]["parameters"]
    'players, [seed], [distribution]'
    """
    return [
        {
            "family": each.name,
            "parameters": ", ".join(
                name if parameter.is_required else f"[{name}]"
                for name, parameter in each.parameters.items()
            ),
            "about": each.about,
        }
        for each in FAMILIES.values()
    ]


def parameter_label(name: str) -> str:
    """Return the label of a parameter in figures, whatever its family.

    Examples
    --------
    >>> parameter_label("pairs"), parameter_label("seed")
    ('couples, L', 'seed')
    """
    labels = (each.parameters[name].label for each in FAMILIES.values() if name in each.parameters)
    return next(labels, name)
