"""The page of the events in a pool's log, from their dataclasses and the comments in them."""

import dataclasses
import inspect
import re
from collections.abc import Sequence
from typing import get_args

from typing_extensions import TypeAliasType

from pairup.service.domain import events
from scripts.reference.markdown import NOTICE, table

_HEAD = f"""# Events in the log of a pool

{NOTICE}

The log is what [`GET /v1/pools/{{pool}}/events`](rest.md#get-v1poolspoolevents) returns page by
page and what its stream sends as it happens. Each event has its number `seq` in the pool, the time
`at`, a `kind` and a `body`. Moments are sent as text, as RFC 3339 writes it, in UTC. An event whose
kind this version does not know, because a newer one wrote it, is shown with the kind `unknown` and
a body of its `kind` and `body` in the log. Why the log holds all of this:
[design of the service](../explanation/service-design.md).

"""
_TYPES = (  # as they are shown; the log itself has numbers
    ("`Player`", "name of a player, or `erased:` and a number if the name was erased"),
    ("`Matching`", "id of a matching"),
    ("`Game`", "id of a game"),
    ("`Answers`", "list of two `Answer`, in the order of the game's players; null: not known"),
)


def page() -> str:
    """Return the text of the page."""
    sections = [_section(event) for event in events.Event.__subclasses__()]
    game = _part("A proposed game", events.ProposedGame, [("`id`", "`Game`", "")])
    report = _part("A report that was sent", events.SentReport)
    types = f"## Types\n\n{table(('type', 'what it is'), _TYPES)}"
    return _HEAD + "\n".join([*sections, game, report, types, _words()])


def _part(title: str, of: type, first: Sequence[tuple[str, str, str]] = ()) -> str:
    return f"## {title}\n\n{_fields(of, list(of.__annotations__), first)}"


def _words() -> str:
    rows = (
        (f"`{name}`", ", ".join(f"`{word}`" for word in get_args(found.__value__)))
        for name, found in vars(events).items()
        if isinstance(found, TypeAliasType)
    )
    return f"## Words\n\n{table(('type', 'words'), rows)}"


def _section(event: type) -> str:
    names = [field.name for field in dataclasses.fields(event)]
    body = _fields(event, names) if names else "The body is empty.\n"
    return f"## `{event.kind}`\n\n{inspect.getdoc(event)}\n\n{body}"


def _fields(owner: type, names: list[str], first: Sequence[tuple[str, str, str]] = ()) -> str:
    source = inspect.getsource(owner)
    rows = list(first)
    for name in names:
        found = re.search(rf"^    {name}: ([^=#\n]+?)(?: = .*?)?(?:  # (.*))?$", source, re.M)
        if not found:
            raise LookupError(f"{owner.__name__} has no line for its field {name}")
        rows.append((f"`{name}`", f"`{found[1]}`", found[2] or ""))
    return table(("field", "type", "note"), rows)
