"""The page of problem families, from their declarations."""

import inspect
import json
import re
from collections.abc import Iterator

from pairup.problem.declaration import FAMILIES, Family, Parameter
from scripts.reference.markdown import NOTICE, table

_INTRODUCTION = """\
A family makes a problem of a few parameters. They are written the same everywhere: in an
[experiment file](experiment-file.md#problem), where lists are swept; on the command line, as
`pairup race --problem line:players=8,window=0.3`; and in Python, as
`Problem.from_family("line", players=8, window=0.3)`. `pairup problems` lists them. Results have a
column for each parameter, `param_NAME`."""
_NUMBERED = (
    "Figures and results know its problems by their positions in the file: the first is `{0}(1)`,\n"
    "and its parameter `{0}` is 1."
)


def page() -> str:
    """Return the text of the page."""
    sections = (part for family in FAMILIES.values() for part in _section(family))
    return "\n\n".join(["# Problem families", NOTICE, _INTRODUCTION, *sections]) + "\n"


def _section(family: Family) -> Iterator[str]:
    text, _, rest = (inspect.getdoc(family.build) or "").partition("\n\nParameters\n----------\n")
    yield f"## `{family.name}`"
    yield text.replace("``", "`")
    if family.is_numbered:
        yield _NUMBERED.format(family.name)
    about = _descriptions(rest.partition("\n\n")[0])
    rows = ([*_cells(each), about[each.name]] for each in family.parameters.values())
    yield table(("parameter", "value", "default", "what it is"), rows).rstrip()


def _cells(parameter: Parameter) -> list[str]:
    default = "required" if parameter.is_required else f"`{json.dumps(parameter.default)}`"
    shown = "none" if parameter.default is None else default
    return [f"`{parameter.name}`", parameter.kind.rule, shown]


def _descriptions(section: str) -> dict[str, str]:
    """Return what the section of a docstring says of each parameter."""
    found = re.findall(r"^(\w[\w, ]*)\n((?:    .*(?:\n|$))+)", section, re.MULTILINE)
    return {name: text.replace("``", "`") for names, text in found for name in names.split(", ")}
