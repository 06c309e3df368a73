"""Views: projections of pools, players, games and what was learnt, as responses show them.

Here numbers of players become names again, and keys of games their ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from pairup.learning.estimates import CoupleEstimate
from pairup.service.domain.counters import Counters, Z, compare, latest_games, wilson_interval
from pairup.service.domain.estimates import (
    RateEstimate,
    estimate_random_pairing,
    estimate_rates,
)
from pairup.service.domain.event_views import Name
from pairup.service.domain.events import Moment, Suggested, format_moment
from pairup.service.domain.games import GameRecord, Ids, MatchingRecord
from pairup.service.domain.imports import ImportProgress
from pairup.service.domain.matchmaking.holdout import ArmCounts, Holdout
from pairup.service.domain.pool import Pool
from pairup.service.domain.reports import AnswerPair, outcome_of
from pairup.service.store import PoolRow, Transaction

_CANCELLED = ("declined", "timed_out", "unstated", "unreported")
_RELEASED = ("released", "left", "deleted")


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


def player(of: Pool, number: int) -> dict[str, Any]:
    """Show a player."""
    open_game = of.players.games.get(number)
    return {
        "player": of.names[number],
        "status": of.players.status(number),
        "game": None if open_game is None else of.ids.game(open_game),
        "attributes": attributes(of, number),
    }


def attributes(of: Pool, number: int) -> dict[str, Any]:
    """Show the attributes of a player."""
    known = of.players.attributes
    lists = known.lists.get(number, {})
    named = {name: [of.names[each] for each in players] for name, players in lists.items()}
    return {**known.values.get(number, {}), **named}


def namer(of: Pool, transaction: Transaction, players: Iterable[int]) -> Name:
    """Return a function that names players of a pool, also those who have left."""
    names = transaction.names(of.number, {each for each in players if each not in of.names})
    return lambda player: names.get(player) or of.names[player]


def matching(
    of: Pool, record: MatchingRecord, games: Iterable[GameRecord], name: Name
) -> dict[str, Any]:
    """Show a matching."""
    return {
        "id": of.ids.matching(record.key),
        "pool": of.name,
        "games": [game(each, of.ids, name) for each in games],
        "waiting": [name(each) for each in record.waiting],
        "proposed_at": format_moment(record.key),
        "expires_at": format_moment(record.expires_at),
    }


def game(of: GameRecord, ids: Ids, name: Name) -> dict[str, Any]:
    """Show a game."""
    one, other = of.players
    matching_id = ids.matching(of.key.matching)
    return {
        "id": f"{matching_id}-{of.key.place:x}",
        "matching": matching_id,
        "players": [name(one), name(other)],
        "chance": of.chance,
        "state": of.state,
        "outcome": outcome_of(of.played),
        "answers": answers(of.players, of.answers, name),
        "cause": of.cause,
        "learnt": of.learnt,
        "late": of.late,
        "expires_at": format_moment(of.expires_at),
        "closed_at": None if of.closed_at is None else format_moment(of.closed_at),
    }


def answers(players: tuple[int, int], said: AnswerPair, name: Name) -> dict[str, str]:
    """Show the answers to a game that are known, sorted by name."""
    if not any(said):
        return {}
    named = zip(map(name, players), said, strict=True)
    return {player: answer for player, answer in sorted(named) if answer is not None}


def estimates(of: Pool, max_couples: int) -> dict[str, Any]:
    """Show what the learner estimates."""
    couples = sorted(of.learner.estimates(max_couples), key=lambda each: -each.proposed)
    return {
        "policy": of.rules.policy,
        "players": [_rate(of, each) for each in estimate_rates(of.learner, of.players.met)],
        "couples": [_couple(of, each) for each in couples],
        "couples_known": of.learner.observed_couple_count,
    }


def _rate(of: Pool, estimate: RateEstimate) -> dict[str, Any]:
    low, high = estimate.interval
    name = of.names[estimate.player]
    return {"player": name, "rate": estimate.rate, "low": low, "high": high}


def _couple(of: Pool, estimate: CoupleEstimate) -> dict[str, Any]:
    names: list[Any] = [of.names[number] for number in estimate.couple]
    return {"players": names, "proposed": estimate.proposed, "played": estimate.played}


def stats(of: Pool, max_games: int, now: Moment) -> dict[str, Any]:
    """Show everything that a page about a pool needs.

    Players have waited since the later of `now` and the last event, as in a proposal.
    """
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
        "waits_s": of.players.waits_s(max(now, of.at)) if of.players.waiting else None,
        "unmatched": counters.unmatched,
        "worth": counters.worth / counters.proposed if counters.proposed else None,
        "games": _games(counters, len(of.games)),
        "imported": of.imported,
        "reports": counters.reports,
        "feedback": {
            name: getattr(counters, name)
            for name in ("late", "repeated", "contradicting", "missing", "noted")
        },
        "exploration": _exploration(counters),
        "played_share": played,
        "random_share": _random_share(of),
        "couple_deviation": _couple_deviation(of),
        "compared": None if compared is None else compared.as_json(),
        "shadow": _shadow(of),
        "holdout": None if of.holdout is None else _holdout(of.holdout),
        "course": {"width": counters.width, "buckets": _course(counters)},
        "open_games": [
            game(each.record, of.ids, of.names.__getitem__)
            for each in islice(of.games.values(), max_games)
        ],
    }


def _shadow(of: Pool) -> dict[str, Any] | None:
    """Show what was observed of another matchmaker; None if the pool never was in shadow."""
    found = of.shadow
    if of.rules.mode != "shadow" and not found.rounds:
        return None
    compared = found.compare()
    return {
        **{name: getattr(found, name) for name in ("rounds", "uncompared", "games", "played")},
        "compared": None if compared is None else compared.as_json(),
    }


def _holdout(of: Holdout) -> dict[str, Any]:
    compared = of.compare()
    return {
        "since": format_moment(of.since),
        "policy": _arm(compared.policy),
        "control": _arm(compared.control),
        "mixed_games": of.mixed,
        "gain": compared.gain,
        "more_games": compared.more_games,
    }


def _arm(of: ArmCounts) -> dict[str, Any]:
    share = of.share if of.games else None
    return {"games": of.games, "played": of.played, "share": share, "units": of.units}


def _random_share(of: Pool) -> dict[str, float] | None:
    """Estimate what random pairing would give, in proposals if not all players may meet."""
    if not of.rules.needs_graph:
        return estimate_random_pairing(estimate_rates(of.learner, of.players.met))
    latest = latest_games(of.counters.buckets)
    mean, deviation = latest.mean(latest.random), latest.mean(latest.deviation)
    if mean is None or deviation is None:
        return None
    low, high = max(0.0, mean - Z * deviation), min(1.0, mean + Z * deviation)
    return {"estimate": mean, "low": low, "high": high}


def _couple_deviation(of: Pool) -> dict[str, float] | None:
    """Show how far couples deviate from the players' rates, if the policy learns it."""
    found = of.learner.couple_deviation()
    return None if found is None else found._asdict()


def suggested(of: Pool, would: Suggested) -> dict[str, Any]:
    """Show what a pool in shadow would have proposed."""
    names = of.names
    return {
        "games": [
            {"players": [names[each] for each in game["players"]], "chance": game["chance"]}
            for game in would["games"]
        ],
        "waiting": [names[each] for each in would["waiting"]],
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


def events(of: PoolRow, transaction: Transaction, after: int, limit: int) -> dict[str, Any]:
    """Show a page of the log of a pool, whether or not its events can be applied."""
    shown = transaction.shown_events(of, after, limit)
    last = shown[-1]["seq"] if shown else after
    following = last if shown and last < of.seq else None
    first = transaction.first_event(of.number)
    return {"events": shown, "first": first, "last": last, "next": following}
