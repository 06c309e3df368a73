"""Schemas of the log: one for each kind of event, made from the events of the domain."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, BeforeValidator, Field, create_model
from typing_extensions import TypeAliasType

from pairup.service.api.schemas.fields import GameId, MatchingId, PlayerId, Time
from pairup.service.domain import events
from pairup.service.domain.events import Moment

# What callers see of what is stored.
_SENT: dict[Any, Any] = {
    Moment: Time,
    events.Player: PlayerId,
    events.Matching: MatchingId,
    events.Game: GameId,
}


class EventHead(BaseModel):
    """What every event has."""

    seq: int = Field(ge=1, description="Number of the event in its pool: 1, 2, ...")
    at: Time


class UnknownBody(BaseModel):
    """An event as the log has it."""

    kind: str
    body: dict[str, Any]


class UnknownEvent(EventHead):
    """An event of a kind that this version does not know: a newer one wrote it."""

    kind: Literal["unknown"]
    body: UnknownBody


@cache
def _body_schema(event: type) -> type[BaseModel]:
    """Make the schema of what an event, or a part of one, says."""
    made: Any = create_model
    hints = get_type_hints(event, include_extras=True)
    if dataclasses.is_dataclass(event):
        fields = {
            each.name: (_sent(hints[each.name]), _default(each))
            for each in dataclasses.fields(event)
        }
    else:
        fields = {name: (_sent(hint), ...) for name, hint in hints.items()}
    if event is events.ProposedGame:
        fields = {"id": (GameId, ...), **fields}
    name = event.__name__ + ("Body" if issubclass(event, events.Event) else "")
    return made(name, __doc__=inspect.getdoc(event), **fields)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default is dataclasses.MISSING else field.default


def _sent(hint: Any) -> Any:
    """Return the type that is sent for one of the domain: moments as text, parts as schemas."""
    if hint in _SENT:
        return _SENT[hint]
    if is_typeddict(hint):
        return _body_schema(hint)
    origin, parts = get_origin(hint), [_sent(each) for each in get_args(hint)]
    if origin in (UnionType, Union):
        return reduce(or_, parts)
    return origin[tuple(parts)] if origin in (list, dict) else hint


def _event_schema(event: Any) -> type[BaseModel]:
    made: Any = create_model
    return made(
        f"{event.__name__}Event",
        __base__=EventHead,
        __doc__=inspect.getdoc(event),
        kind=(Literal[event.kind], ...),
        body=(_body_schema(event), ...),
    )


if TYPE_CHECKING:

    class EventView(EventHead):
        """An event of the log."""

        kind: str
        body: Any

else:
    EVENT_SCHEMAS = {each.kind: _event_schema(each) for each in events.Event.__subclasses__()}
    EventView = TypeAliasType(
        "EventView",
        Annotated[
            Union[(*EVENT_SCHEMAS.values(), UnknownEvent)],
            Field(discriminator="kind", description="An event of the log."),
            BeforeValidator(events.show_unknown),
        ],
    )


class EventPage(BaseModel):
    """A page of the log."""

    events: list[EventView]
    first: int = Field(
        description="Number of the first event that is still stored: 1, unless archives were "
        "dropped."
    )
    last: int = Field(description="Number of the last event that was read so far.")
    next: int | None = Field(
        description="Number to be sent as `after` for the next page, null on the last one."
    )
