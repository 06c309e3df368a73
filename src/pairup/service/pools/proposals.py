"""Proposals: matchings are proposed, and taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.errors import PolicyError
from pairup.service.domain import events
from pairup.service.domain.events import Moment, UnknownPlayers, format_moment
from pairup.service.domain.matchmaking.matchmaker import ODD, GivenCouples
from pairup.service.domain.pool import Pool
from pairup.service.pools import views
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError
from pairup.service.store import Transaction


def propose(
    work: UnitOfWork,
    available: list[str] | None,
    apart: Sequence[Sequence[str]],
    unknown: UnknownPlayers = "refuse",
    allowed: Allowed | None = None,
) -> dict[str, Any]:
    """Propose a matching of the players who wait, or of those `available`.

    Players who are not in the pool, or who are available but not waiting, are refused or skipped.
    """
    check_mode(work.pool, "live", "is not to propose anything: report its rounds to `observed`")
    pool, skipped, sent = work.pool, dict[str, None](), available
    if unknown == "skip":
        available, apart, skipped = _without_absent(pool, available, apart)
    chosen = None if available is None else _check_available(pool, available)
    couples = [_check_couple(pool, *couple) for couple in apart]
    players = pool.players.waiting if chosen is None else chosen
    if len(players) < 2:
        raise RefusalError(
            "too-few-players",
            f"{len(players)} of the {len(pool.players)} players of pool {pool.name!r} are waiting, "
            "a game takes two: try again when someone has joined or a game has ended",
            {"waiting": len(players), "players": pool.players.counts(), "skipped": list(skipped)},
        )
    given, absent = None, dict[str, None]()
    if allowed is not None:
        given, absent = _read_allowed(pool, allowed, list(players), sent, unknown)
    event = _propose(work, chosen, couples, given)
    unmatched = {ODD: len(event.waiting)} if event.waiting else {}
    return _show(work, event.matching) | {
        "skipped": list(skipped | absent),
        "unmatched": event.ruled["unmatched"] if event.ruled else unmatched,
        "alone": [pool.names[player] for player in event.ruled["alone"]] if event.ruled else [],
    }


def check_mode(pool: Pool, mode: events.Mode, why: str) -> None:
    """Refuse what a pool does in another mode than its own."""
    if pool.rules.mode != mode:
        raise RefusalError(
            "wrong-mode",
            f"pool {pool.name!r} is in the mode {pool.rules.mode!r} and {why}, or change its mode "
            f"to {mode!r}",
            {"mode": pool.rules.mode},
        )


def _propose(
    work: UnitOfWork,
    chosen: list[int] | None,
    apart: list[list[int]],
    given: GivenCouples | None,
) -> events.Proposed:
    try:
        if given is not None:
            work.pool.learner.policy.check_graph()
        return work.propose(chosen, apart, given)
    except PolicyError as error:
        raise RefusalError("invalid-request", str(error)) from None


class Allowed(NamedTuple):
    """Who may meet in a proposal, as it was sent: as couples or as groups."""

    couples: Sequence[Sequence[str]] | None = None
    player_a: Sequence[int] | None = None  # places in `available`
    player_b: Sequence[int] | None = None
    groups: Sequence[Sequence[str]] | None = None
    worth: Sequence[float] | None = None  # of each couple


def _read_allowed(
    pool: Pool,
    allowed: Allowed,
    players: list[int],
    sent: list[str] | None,
    unknown: UnknownPlayers,
) -> tuple[GivenCouples, dict[str, None]]:
    """Read who may meet, by places among the players; returns also who was skipped."""
    place, absent = {player: x for x, player in enumerate(players)}, dict[str, None]()

    def find(name: str) -> int:
        found = place.get(pool.names.number(name) or 0)
        if found is not None:
            return found
        if unknown == "refuse":
            find_player(pool, name)
            raise RefusalError(
                "players-not-waiting",
                f"player {name!r} is in `allowed`, and is not among the players to be matched: "
                "leave the player out, or skip such players with `unknown`",
            )
        absent[name] = None
        return -1

    worth = None if allowed.worth is None else np.array(allowed.worth, np.float64)
    if allowed.groups is not None:
        return _read_groups(allowed.groups, len(players), find), absent
    if allowed.couples is not None:
        places = [find(name) for couple in allowed.couples for name in couple]
        couples = np.array(places, np.int64).reshape(-1, 2)
    else:
        places = [place.get(pool.names.number(name) or 0, -1) for name in sent or ()]
        couples = _read_columns(allowed, places)
    known = (couples >= 0).all(axis=1)
    for x in couples[known & (couples[:, 0] == couples[:, 1]), 0]:
        raise RefusalError(
            "invalid-request",
            f"player {pool.names[players[x]]!r} is allowed to meet itself: a couple is two players",
        )
    return GivenCouples(couples[known], None if worth is None else worth[known]), absent


def _read_groups(
    groups: Sequence[Sequence[str]], players: int, find: Callable[[str], int]
) -> GivenCouples:
    numbers = np.full(players, -1, np.int64)
    for number, names in enumerate(groups):
        for name in names:
            x = find(name)
            if x >= 0 and numbers[x] >= 0:
                raise RefusalError(
                    "invalid-request",
                    f"player {name!r} is in two groups, or twice in one: put each player into one "
                    "group, or send couples",
                )
            if x >= 0:
                numbers[x] = number
    return GivenCouples(groups=numbers)


def _read_columns(allowed: Allowed, places: list[int]) -> NDArray[np.int64]:
    """Read couples that were sent as places in `available`."""
    columns = np.array([allowed.player_a, allowed.player_b], np.int64).T.reshape(-1, 2)
    if len(columns) and columns.max() >= len(places):
        raise RefusalError(
            "invalid-request",
            f"allowed has the place {columns.max()}, and `available` has {len(places)} players: "
            "player_a and player_b are places in `available`, the first of which is 0",
        )
    return np.array([*places, -1], np.int64)[columns]


def _without_absent(
    pool: Pool, available: list[str] | None, apart: Sequence[Sequence[str]]
) -> tuple[list[str] | None, list[Sequence[str]], dict[str, None]]:
    """Leave out players who are not there, and return them too, each once."""
    present, waiting = pool.players.wishes, pool.players.waiting
    skipped = {name: None for name in available or () if pool.names.number(name) not in waiting}
    absent = {
        name: None for couple in apart for name in couple if pool.names.number(name) not in present
    }
    some = None if available is None else [name for name in available if name not in skipped]
    return some, [each for each in apart if not absent.keys() & set(each)], skipped | absent


def release(work: UnitOfWork, matching: str) -> dict[str, Any]:
    """Take back the games of a matching that are still open."""
    key = work.pool.ids.find_matching(matching)
    if key is None:
        raise unknown_matching(matching)
    if key in work.pool.games.matchings:
        opened = [list(game) for game in work.pool.games.matchings[key].games]
        work.add(events.Released(opened, "released"))
    return _show(work, key)


def _show(work: UnitOfWork, key: Moment) -> dict[str, Any]:
    """Show a matching with its games as this request leaves them."""
    found = work.matching(key)
    if found is None:
        id = work.pool.ids.matching(key)
        check_not_archived(id, key, work.archived_before)
        raise unknown_matching(id)
    return views.matching(work.pool, *found, work.name)


def show_matching(pool: Pool, transaction: Transaction, matching: str) -> dict[str, Any]:
    """Show a matching with what became of its games."""
    key = pool.ids.find_matching(matching)
    record = None if key is None else transaction.matching(pool.number, key)
    if key is None or record is None:
        check_not_archived(matching, key, transaction.archived_before(pool.number))
        raise unknown_matching(matching)
    games = transaction.games_of(pool.number, key)
    players = [*record.waiting, *(each for game in games for each in game.players)]
    return views.matching(pool, record, games, views.namer(pool, transaction, players))


def unknown_matching(matching: str) -> RefusalError:
    """Make the refusal of a matching that does not exist."""
    return RefusalError(
        "no-such-matching",
        f"no matching has the id {matching!r}: send the id that the proposal was answered with",
    )


def check_not_archived(id: str, proposed_at: Moment | None, before: Moment | None) -> None:
    """Refuse the id of a thing that is not stored, if it is from before what was archived."""
    if proposed_at is not None and before is not None and proposed_at < before:
        raise RefusalError(
            "archived",
            f"{id!r} is not stored any more: games that were closed before "
            f"{format_moment(before)} are in an archive, and reports of them are not taken",
        )


def find_player(pool: Pool, player: str) -> int:
    """Return the number of a player, or refuse one who is not in the pool."""
    number = pool.names.number(player)
    if number is None or number not in pool.players:
        raise RefusalError(
            "no-such-player",
            f"player {player!r} is not in pool {pool.name!r}: let them join first",
        )
    return number


def _check_couple(pool: Pool, one: str, other: str) -> list[int]:
    if one == other:
        raise RefusalError(
            "invalid-request",
            f"player {one!r} is to be kept apart from itself: a couple is two players",
        )
    return sorted((find_player(pool, one), find_player(pool, other)))


def _check_available(pool: Pool, available: list[str]) -> list[int]:
    if len(set(available)) < len(available):
        ((twice, _),) = Counter(available).most_common(1)
        raise RefusalError(
            "invalid-request", f"player {twice!r} is available twice: name each player once"
        )
    numbers = {player: find_player(pool, player) for player in available}
    waiting, status = pool.players.waiting, pool.players.status
    others = {player: status(each) for player, each in numbers.items() if each not in waiting}
    if others:
        raise RefusalError(
            "players-not-waiting",
            f"{len(others)} of the players available are not waiting, such as "
            f"{next(iter(others))!r}: leave them out, skip them with `unknown`, or leave out "
            "`available` to take all who are waiting",
            {"players": others},
        )
    return list(numbers.values())
