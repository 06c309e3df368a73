"""Observations: a pool in shadow learns the rounds of another matchmaker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pairup.errors import PolicyError
from pairup.service.domain import events
from pairup.service.domain.events import Answer, Outcome
from pairup.service.domain.pool import Pool
from pairup.service.domain.reports import InconsistentReportError, Report, read_report
from pairup.service.pools import views
from pairup.service.pools.players import check_needs
from pairup.service.pools.proposals import check_mode
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError


class ObservedGame(NamedTuple):
    """A game of another matchmaker as it was sent."""

    players: Sequence[str]  # by name
    outcome: Outcome | None
    answers: Mapping[str, Answer]


def observe(work: UnitOfWork, games: Sequence[ObservedGame]) -> dict[str, Any]:
    """Learn a round, after deciding what the pool would have proposed to the same players."""
    pool = work.pool
    check_mode(pool, "shadow", "learns the games that it proposes: report their outcomes")
    _check_once([player for game in games for player in game.players])
    said = [_read(game) for game in games]
    joined = _join(work, [player for game in games for player in game.players])
    couples = [[work.number_of(player) or 0 for player in game.players] for game in games]
    suggested, why = _suggest(pool, work.at, couples)
    heard = [list(each.heard(pool.rules.timeout_declines)) for each in said]
    told = heard if any(each != [None, None] for each in heard) else None
    played = [bool(each.decision) for each in said]
    work.add(events.Observed(couples, played, told, suggested))
    return {
        "games": len(games),
        "played": sum(played),
        "joined": joined,
        "suggested": None if suggested is None else views.suggested(pool, suggested),
        "why": why,
    }


def _check_once(players: list[str]) -> None:
    ((player, times),) = Counter(players).most_common(1)
    if times > 1:
        raise RefusalError(
            "invalid-request",
            f"player {player!r} is in the round {times} times: a round has each player once, send "
            "later games as a round of their own",
        )


def _read(game: ObservedGame) -> Report:
    """Read what became of a game, which must be known, or refuse it."""
    one, other = game.players
    try:
        said = read_report(game.outcome, game.answers, game.players)
    except InconsistentReportError as error:
        raise RefusalError("invalid-request", f"of {one!r} and {other!r}: {error}") from None
    if said.decision is None:
        raise RefusalError(
            "invalid-request",
            f"it is not known whether {one!r} and {other!r} played: send the round when it is, or "
            "leave the game out",
        )
    return said


def _join(work: UnitOfWork, players: list[str]) -> list[str]:
    """Add players who are not in the pool, away; returns them."""
    pool = work.pool
    joined = [name for name in players if work.number_of(name) not in pool.players.wishes]
    if joined:
        numbers, new = work.numbers_of(joined)
        if new:
            work.check_room(len(new))
        work.add(events.Joined(numbers, "away"), new)
    return joined


def _suggest(
    pool: Pool, at: events.Moment, couples: list[list[int]]
) -> tuple[events.Suggested | None, str | None]:
    """Decide what the pool would have proposed, None if the rules do not fit, and why."""
    lists = pool.players.attributes.lists
    try:
        if pool.rules.needs:
            for player in (player for couple in couples for player in couple):
                known = views.attributes(pool, player)
                check_needs(pool.rules, pool.names[player], known, lists.get(player, {}).keys())
        return pool.suggest(at, couples), None
    except (PolicyError, RefusalError) as error:
        return None, str(error)
