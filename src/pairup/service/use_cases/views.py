"""Views: projections of pools, players, games and what was learnt, as answers show them."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, get_type_hints

from pairup.service.analytics.comparison import compare, latest_games, wilson_interval
from pairup.service.analytics.rate_estimates import estimate_random_pairing, estimate_rates
from pairup.service.domain.clock import Moment, format_moment
from pairup.service.domain.counters import Counters
from pairup.service.domain.events import Event, show_unknown
from pairup.service.domain.game_record import GameRecord, MatchingRecord
from pairup.service.domain.game_report import outcome_of
from pairup.service.domain.import_progress import ImportProgress
from pairup.service.domain.pool import Pool
from pairup.service.store import PoolRow

_CANCELLED = ("declined", "timed_out", "unstated", "unreported")
_RELEASED = ("released", "left", "deleted")
_MOMENTS = {  # fields of events that are shown as text, as all moments are
    event.kind: [
        name for name, hint in get_type_hints(event, include_extras=True).items() if hint == Moment
    ]
    for event in Event.__subclasses__()
}


def pool(of: Pool) -> dict[str, Any]:
    """Show a pool."""
    return {
        "name": of.name,
        **of.rules.as_json(),
        "players": of.players.counts(),
        "open_games": len(of.games),
        "seq": of.seq,
        "updated_at": format_moment(of.at),
    }


def player(of: Pool, name: str) -> dict[str, Any]:
    """Show a player."""
    return {"player": name, "status": of.players.status(name), "game": of.players.games.get(name)}


def matching(pool: str, of: MatchingRecord, games: list[GameRecord]) -> dict[str, Any]:
    """Show a matching."""
    return {
        "id": of.id,
        "pool": pool,
        "games": [game(each) for each in games],
        "waiting": of.waiting,
        "proposed_at": format_moment(of.at),
        "expires_at": format_moment(of.expires_at),
    }


def game(of: GameRecord) -> dict[str, Any]:
    """Show a game."""
    return {
        "id": of.id,
        "matching": of.matching_id,
        "players": list(of.players),
        "chance": of.chance,
        "state": of.state,
        "outcome": outcome_of(of.played),
        "answers": of.answers,
        "cause": of.cause,
        "learnt": of.learnt,
        "late": of.late,
        "expires_at": format_moment(of.expires_at),
        "closed_at": None if of.closed_at is None else format_moment(of.closed_at),
    }


def estimates(of: Pool, max_couples: int) -> dict[str, Any]:
    """Show what the learner estimates."""
    couples = sorted(of.learner.estimates(max_couples), key=lambda each: -each.proposed)
    return {
        "policy": of.rules.policy,
        "players": [each.as_json() for each in estimate_rates(of.learner, of.players.met)],
        "couples": [
            {"players": list(each.couple), "proposed": each.proposed, "played": each.played}
            for each in couples
        ],
        "couples_known": of.learner.observed_couple_count,
    }


def stats(of: Pool, max_games: int) -> dict[str, Any]:
    """Show everything that a page about a pool needs."""
    counters = of.counters
    compared = compare(counters.buckets)
    played = wilson_interval(counters.played, counters.learnt) if counters.learnt else None
    return {
        "pool": of.name,
        "policy": of.rules.policy,
        "seq": of.seq,
        "at": format_moment(of.at),
        "matchings": counters.matchings,
        "players": of.players.counts(),
        "games": _games(counters, len(of.games)),
        "imported": of.imported,
        "reports": counters.reports,
        "feedback": {
            name: getattr(counters, name)
            for name in ("late", "repeated", "contradicting", "missing", "noted")
        },
        "exploration": _exploration(counters),
        "played_share": played,
        "random_share": estimate_random_pairing(estimate_rates(of.learner, of.players.met)),
        "compared": None if compared is None else compared.as_json(),
        "course": {"width": counters.width, "buckets": _course(counters)},
        "open_games": [game(each.record(of.id)) for each in islice(of.games.values(), max_games)],
    }


def import_progress(of: Pool, source: str) -> dict[str, Any]:
    """Show how far an import has come."""
    return {"id": source, **of.imports.get(source, ImportProgress())._asdict()}


def _games(counters: Counters, open_games: int) -> dict[str, Any]:
    return {
        "proposed": counters.proposed,
        "open": open_games,
        "played": counters.played,
        "cancelled": {cause: counters.cancelled.get(cause, 0) for cause in _CANCELLED},
        "released": {cause: counters.released.get(cause, 0) for cause in _RELEASED},
        "expired": counters.expired,
        "learnt": counters.learnt,
    }


def _exploration(counters: Counters) -> dict[str, Any]:
    latest = latest_games(counters.buckets)
    share = latest.explored / latest.games if latest.games else None
    return {
        "explored": counters.explored,
        "proposed": counters.proposed,
        "share": counters.explored / counters.proposed if counters.proposed else None,
        "latest": {"explored": latest.explored, "games": latest.games, "share": share},
    }


def _course(counters: Counters) -> list[dict[str, Any]]:
    return [
        {
            "index": place * counters.width,
            "games": each.games,
            "played": each.played,
            "share": wilson_interval(each.played, each.games),
            "explored": each.explored,
            "expected": each.mean(each.expected),
            "random": each.mean(each.random),
            "best": each.mean(each.best),
        }
        for place, each in enumerate(counters.buckets)
    ]


def pool_item(of: PoolRow) -> dict[str, Any]:
    """Show a pool in a list."""
    return {"name": of.name, "created_at": format_moment(of.created_at), "seq": of.seq}


def event(row: Any) -> dict[str, Any]:
    """Show an event of the log."""
    body = json.loads(row.body)
    moments = _MOMENTS.get(row.kind, ())  # which a damaged body may lack
    body |= {name: format_moment(body[name]) for name in moments if isinstance(body.get(name), int)}
    head = {"seq": row.seq, "at": format_moment(row.at), "kind": row.kind}
    return show_unknown({**head, "body": body})
