"""States: the closed sets of words in events, records and answers.

Each has a name of its own, which the OpenAPI description shows too.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

PlayerStatus = TypeAliasType("PlayerStatus", Literal["waiting", "proposed", "playing", "away"])
# What a player can ask for; the other states follow from games.
PlayerWish = TypeAliasType("PlayerWish", Literal["waiting", "away"])
# ... and in a batch.
BatchWish = TypeAliasType("BatchWish", Literal["waiting", "away", "left"])
PlayerResult = TypeAliasType("PlayerResult", Literal["joined", "moved", "unchanged", "left"])
GameState = TypeAliasType(
    "GameState", Literal["proposed", "played", "cancelled", "released", "expired"]
)
Outcome = TypeAliasType("Outcome", Literal["played", "cancelled"])
Answer = TypeAliasType("Answer", Literal["accepted", "declined", "timed_out", "unknown"])
ReportResult = TypeAliasType("ReportResult", Literal["learnt", "noted", "late", "repeated"])
CancelCause = TypeAliasType("CancelCause", Literal["declined", "timed_out", "unstated"])
ReleaseCause = TypeAliasType("ReleaseCause", Literal["released", "left", "deleted"])
# Why a game was not played, in an answer.
Cause = TypeAliasType(
    "Cause",
    Literal["declined", "timed_out", "unstated", "released", "left", "deleted", "unreported"],
)
# What becomes of players in a request for a proposal who are not there.
UnknownPlayers = TypeAliasType("UnknownPlayers", Literal["refuse", "skip"])
Unreported = TypeAliasType("Unreported", Literal["discard", "cancelled"])
AfterGame = TypeAliasType("AfterGame", Literal["waiting", "playing"])
