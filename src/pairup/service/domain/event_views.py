"""Views of events: what the log says, with names, ids and dates in the place of numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints, is_typeddict

from pairup.service.domain import events
from pairup.service.domain.events import Moment, format_moment
from pairup.service.domain.games import GameKey, Ids


class RawEvent(NamedTuple):
    """An event as the log has it, with its body as JSON."""

    seq: int
    at: Moment
    kind: str
    body: str


Name = Callable[[int], str]  # of a player
_Show = Callable[[Any, Ids, Name], Any]


def show_event(row: RawEvent, ids: Ids, name: Name) -> dict[str, Any]:
    """Show an event of the log."""
    body = json.loads(row.body)
    try:
        shown = {key: _shown(row.kind).get(key, _as_it_is)(body[key], ids, name) for key in body}
        if row.kind == events.Proposed.kind:
            for place, proposed in enumerate(shown["games"]):
                proposed["id"] = ids.game(GameKey(body["matching"], place))
    except (KeyError, TypeError, ValueError):
        shown = body  # damaged
    head = {"seq": row.seq, "at": format_moment(row.at), "kind": row.kind}
    return dict(events.show_unknown({**head, "body": shown}))


def players_in(rows: Iterable[RawEvent], ids: Ids) -> set[int]:
    """Return the numbers of all players that some events name."""
    found = set[int]()

    def note(number: int) -> str:
        found.add(number)
        return ""

    for row in rows:
        show_event(row, ids, note)
    return found


@cache
def _shown(kind: str) -> dict[str, _Show]:
    """Return how the fields of events of a kind are shown, those left out as they are."""
    for each in events.Event.__subclasses__():
        if each.kind == kind:
            return _fields(each)
    return {}


def _fields(of: type) -> dict[str, _Show]:
    hints = get_type_hints(of, include_extras=True)
    found = {name: _how(hint) for name, hint in hints.items()}
    return {name: show for name, show in found.items() if show is not None}


def _how(hint: Any) -> _Show | None:
    """Return how a value of some type is shown, None if as it is."""
    if hint in _SHOWN:
        return _SHOWN[hint]
    if is_typeddict(hint):
        fields = _fields(hint)
        return lambda value, ids, name: {
            key: fields.get(key, _as_it_is)(each, ids, name) for key, each in value.items()
        }
    inner = next(filter(None, map(_how, get_args(hint))), None)
    if inner is None:
        return None
    if get_origin(hint) is list:
        return lambda value, ids, name: [inner(each, ids, name) for each in value]
    assert get_origin(hint) in (UnionType, Union)
    return lambda value, ids, name: None if value is None else inner(value, ids, name)


def _as_it_is(value: Any, ids: Ids, name: Name) -> Any:
    return value


_SHOWN: dict[Any, _Show] = {
    Moment: lambda value, ids, name: format_moment(value),
    events.Player: lambda value, ids, name: name(value),
    events.Matching: lambda value, ids, name: ids.matching(value),
    events.Game: lambda value, ids, name: ids.game(GameKey(*value)),
}
