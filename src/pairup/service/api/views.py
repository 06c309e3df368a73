"""Views: what is answered about pools, players, games and what was learnt."""

from __future__ import annotations

import json
from typing import Any

from pairup.service.analytics import estimates, shares
from pairup.service.analytics.shares import wilson
from pairup.service.domain.clock import written
from pairup.service.domain.pool import OpenGame, Pool
from pairup.service.domain.records import GameRecord
from pairup.service.domain.tally import Bucket
from pairup.service.store.transaction import MatchingRow

_CANCELLED = ("declined", "timed_out", "unstated", "unreported")
_RELEASED = ("released", "left", "deleted")


def pool(of: Pool) -> dict[str, Any]:
    """Show a pool."""
    return {
        "name": of.name,
        **of.rules.as_json(),
        "players": of.counts(),
        "open_games": len(of.games),
        "seq": of.seq,
        "updated_at": written(of.at),
    }


def player(of: Pool, name: str) -> dict[str, Any]:
    """Show a player."""
    return {"player": name, "status": of.status(name), "game": of.busy.get(name)}


def matching(of: Pool, row: MatchingRow, games: list[GameRecord]) -> dict[str, Any]:
    """Show a matching."""
    return {
        "id": row.id,
        "pool": of.name,
        "games": [game(each) for each in games],
        "waiting": row.waiting,
        "proposed_at": written(row.at),
        "expires_at": written(row.expires_at),
    }


def game(of: GameRecord) -> dict[str, Any]:
    """Show a game."""
    return {
        "id": of.id,
        "matching": of.matching_id,
        "players": list(of.players),
        "chance": of.chance,
        "state": of.state,
        **of.known.as_json(),
        "cause": of.cause,
        "learnt": of.learnt,
        "late": of.late,
        "expires_at": written(of.expires_at),
        "closed_at": None if of.closed_at is None else written(of.closed_at),
    }


def open_game(of: Pool, id: str, open: OpenGame) -> dict[str, Any]:
    """Show a game that is open."""
    chance = open.forecast.chance
    record = GameRecord(id, of.id, open.matching, open.players, chance, open.expires_at)
    return {**game(record), "answers": open.answers}


def learnt(of: Pool, limit: int) -> dict[str, Any]:
    """Show what the learner estimates."""
    couples = sorted(of.learner.estimates(limit), key=lambda each: -each.proposed)
    return {
        "policy": of.rules.policy,
        "players": [each.as_json() for each in estimates.player_rates(of.learner, of.met)],
        "couples": [
            {"players": list(each.couple), "proposed": each.proposed, "played": each.played}
            for each in couples
        ],
        "couples_known": of.learner.observed_couple_count,
    }


def stats(of: Pool, most_games: int) -> dict[str, Any]:
    """Show everything that a page about a pool needs."""
    tally = of.tally
    random = estimates.random_pairing(estimates.player_rates(of.learner, of.met))
    compared = shares.compared(tally.buckets)
    open_games = list(of.games.items())[:most_games]
    return {
        "pool": of.name,
        "policy": of.rules.policy,
        "seq": of.seq,
        "at": written(of.at),
        "matchings": tally.matchings,
        "players": of.counts(),
        "games": {
            "proposed": tally.proposed,
            "open": len(of.games),
            "played": tally.played,
            "cancelled": {cause: tally.cancelled.get(cause, 0) for cause in _CANCELLED},
            "released": {cause: tally.released.get(cause, 0) for cause in _RELEASED},
            "expired": tally.expired,
            "learnt": tally.learnt,
        },
        "reports": tally.reports,
        "feedback": {
            "late": tally.late,
            "repeated": tally.repeated,
            "contradicting": tally.contradicting,
            "missing": tally.missing,
            "noted": tally.noted,
        },
        "exploration": {
            "explored": tally.explored,
            "proposed": tally.proposed,
            "share": tally.explored / tally.proposed if tally.proposed else None,
            "latest": _explored_of_late(tally.buckets),
        },
        "played_share": wilson(tally.played, tally.learnt) if tally.learnt else None,
        "random_share": None if random is None else random.as_json(),
        "compared": None if compared is None else compared.as_json(),
        "course": {"width": tally.width, "buckets": _course(tally.width, tally.buckets)},
        "open_games": [open_game(of, id, each) for id, each in open_games],
    }


def _explored_of_late(buckets: list[Bucket]) -> dict[str, Any]:
    of = shares.latest(buckets)
    share = of.explored / of.games if of.games else None
    return {"explored": of.explored, "games": of.games, "share": share}


def _course(width: int, buckets: list[Bucket]) -> list[dict[str, Any]]:
    return [
        {
            "index": place * width,
            "games": each.games,
            "played": each.played,
            "share": wilson(each.played, each.games),
            "explored": each.explored,
            "expected": each.mean_expected,
            "random": each.mean_random,
            "best": each.mean_best,
        }
        for place, each in enumerate(buckets)
    ]


def event(row: Any) -> dict[str, Any]:
    """Show an event of the log."""
    return {"seq": row.seq, "at": written(row.at), "kind": row.kind, "body": json.loads(row.body)}
