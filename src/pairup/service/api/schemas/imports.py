"""Schemas of imports: games of the past in columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pairup.service.api.schemas.fields import MAX_INTEGER, Body, Items, SentPlayer

IMPORT_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$"
ImportId = Annotated[
    str,
    StringConstraints(pattern=IMPORT_ID),
    Field(description="Id of the import, chosen by the sender.", examples=["2025-season"]),
]
Row = Annotated[int, Field(ge=0, lt=MAX_INTEGER)]
_Place = Annotated[int, Field(ge=0, lt=2**31)]
_Said = Annotated[
    Items[bool | None] | None,
    Field(description="Whether it was so in each game; null where it is not known."),
]


class ImportedRows(Body):
    """The next rows of a source, in columns; each game has a place in every column that is given.

    `player_a` and `player_b` are places in `players`, counted from 0.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "rows": 2,
                    "players": ["ann", "bob", "cyd"],
                    "player_a": [0, 0],
                    "player_b": [1, 2],
                    "played": [True, False],
                }
            ]
        }
    )

    rows: Row = Field(
        description="Number of rows of the source that these are, those left out included."
    )
    players: Items[SentPlayer] = Field(description="Names of the players, each once.")
    player_a: Items[_Place]
    player_b: Items[_Place]
    played: _Said = None
    accepted_a: _Said = None
    accepted_b: _Said = None


class ImportView(BaseModel):
    """How far an import has come."""

    id: ImportId
    next: int = Field(description="Row of the source that is to be sent next, counted from 0.")
    games: int = Field(description="Number of games that were learnt.")
