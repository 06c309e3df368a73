"""Reports of games as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from pairup.service.domain import events
from pairup.service.domain.events import Answer, Outcome, Recorded, ReportResult
from pairup.service.domain.games import OPEN, STATES, GameKey, GameRecord, OpenGame, project
from pairup.service.domain.pool import Pool
from pairup.service.domain.reports import (
    InconsistentReportError,
    Judgement,
    Report,
    judge,
    outcome_of,
    read_report,
)
from pairup.service.pools import views
from pairup.service.pools.proposals import check_not_archived
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError
from pairup.service.store import Transaction

View = dict[str, Any]


class GameReport(NamedTuple):
    """A report of a game as it was sent."""

    game: str  # id
    outcome: Outcome | None
    answers: Mapping[str, Answer]  # by name


def report_outcome(work: UnitOfWork, sent: GameReport) -> View:
    """Record a report of a game."""
    with closing(_Batch(work, [sent])) as batch:
        return batch.take_in(sent)


def report_outcomes(work: UnitOfWork, reports: Sequence[GameReport]) -> dict[str, list[View]]:
    """Record reports of several games; each is answered as if it had been sent alone."""
    with closing(_Batch(work, reports)) as batch:
        return {"results": [_result(batch, sent) for sent in reports]}


def _result(batch: _Batch, sent: GameReport) -> View:
    try:
        return batch.take_in(sent)
    except RefusalError as refusal:
        return {"game": sent.game, "result": "refused", "problem": refusal.as_json()}


class _Judged(NamedTuple):
    """What a report leads to: an event of some kind."""

    kind: str
    game: OpenGame | GameRecord  # as it was before
    found: Judgement


class _Batch:
    """The reports of a request, judged one by one and written as few events.

    Otherwise a log would grow by as much as anyone cares to send, and each outcome would cost an
    event of its own.
    """

    def __init__(self, work: UnitOfWork, reports: Sequence[GameReport]) -> None:
        self._work, find = work, work.pool.ids.find_game
        self._keys = {sent.game: find(sent.game) for sent in reports}  # None: not an id
        work.load_games(key for key in self._keys.values() if key)
        self._judged: dict[GameKey, _Judged] = {}  # the latest of each game
        self._pending: dict[GameKey, _Judged] = {}  # those that are not recorded yet
        self._repeated: list[GameKey] = []
        self._contradicting: list[tuple[GameKey, Report]] = []

    def take_in(self, sent: GameReport) -> View:
        """Judge a report and return its receipt, or refuse it."""
        game, work = self._find(sent.game), self._work
        # Names are looked up where they matter: most reports of a batch are outcomes alone.
        names = [work.name(player) for player in game.players] if sent.answers else ("", "")
        try:
            said = read_report(sent.outcome, sent.answers, names)
        except InconsistentReportError as error:
            raise RefusalError("invalid-request", str(error)) from None
        found = judge(said, game.known, work.pool.rules.timeout_declines)
        if found.contradicts:
            self._contradicting.append((game.key, said))
            raise _contradicting(work, sent.game, game, said)
        decides = game.state == OPEN and found.decision is not None
        if not decides and not found.adds:
            self._repeated.append(game.key)
            return self._receipt(sent.game, "repeated", game, found)
        if game.key in self._pending:  # what an earlier report led to happens first
            self._record()
        kind, result = _DECIDED if decides else _ADDED[game.state]
        self._pending[game.key] = self._judged[game.key] = _Judged(kind, game, found)
        return self._receipt(sent.game, result, game, found)

    def _find(self, id: str) -> OpenGame | GameRecord:
        """Return a game as the reports so far leave it, or refuse the id."""
        key, work = self._keys[id], self._work
        if key in self._judged:
            return self._foreseen(key)
        game = None if key is None else work.game(key)
        if game is not None:
            return game
        check_not_archived(id, None if key is None else key.matching, work.archived_before)
        raise RefusalError(
            "no-such-game",
            f"game {id!r} is not in pool {work.pool.name!r}: report the id that the matching "
            "gave it",
        )

    def _foreseen(self, key: GameKey) -> GameRecord:
        """Return the record of a game that was judged, as its event leaves it."""
        judged = self._judged[key]
        game, event = judged.game, _EVENTS[judged.kind]([list(key)], [judged])
        records = {key: game.record if isinstance(game, OpenGame) else game}
        project(records, Recorded(self._work.pool.seq, self._work.now, event, ""))
        return records[key]

    def _record(self) -> None:
        """Record one event of each kind for all games that were judged."""
        pending, self._pending = self._pending.values(), {}
        for kind, make in _EVENTS.items():
            if some := [each for each in pending if each.kind == kind]:
                self._work.add(make([list(each.game.key) for each in some], some))

    def _receipt(
        self, id: str, result: ReportResult, game: OpenGame | GameRecord, found: Judgement
    ) -> View:
        """Show a game as a report leaves it."""
        learnt, said = result == "learnt", found.known.answers
        played = found.decision if learnt or result == "late" else game.played
        known = game.answers if result == "repeated" else said
        return {
            "game": id,
            "result": result,
            "state": STATES[played] if learnt else game.state,
            "outcome": outcome_of(played),
            "answers": views.answers(game.players, known, self._work.name) if any(known) else {},
            "cause": found.cause if learnt else game.cause,
            "learnt": learnt or game.learnt,
        }

    def close(self) -> None:
        """Record what was judged, and one event for reports that change nothing."""
        most = events.MAX_NAMED_GAMES
        self._record()
        if games := self._repeated:
            named = [list(key) for key in games[:most]]
            self._work.add(events.Repeated(named, len(games[most:])))
        if refused := self._contradicting:
            named = [list(key) for key, _ in refused[:most]]
            sent = [_as_sent(report) for _, report in refused[:most]]
            self._work.add(events.Contradicted(named, sent, len(refused[most:])))


# Kinds of events, and the results that callers get, by whether a report decides an open game or by
# the state of the game that it adds something to.
_DECIDED: tuple[str, ReportResult] = ("decided", "learnt")
_ADDED: dict[str, tuple[str, ReportResult]] = {
    OPEN: ("answered", "noted"),
    "released": ("late", "late"),
    "expired": ("late", "late"),
    "played": ("noted", "noted"),
    "cancelled": ("noted", "noted"),
}


def _answers(judged: list[_Judged]) -> list[events.Answers]:
    return [list(each.found.known.answers) for each in judged]


def _decided(games: list[events.Game], judged: list[_Judged]) -> events.Decided:
    found = [each.found for each in judged]
    causes = [each.cause for each in found]
    kinds = {id(each): each for each in found}.values()  # few of them: judgements are kept
    answered = any(any(each.known.answers) for each in kinds)
    heard = any(each.heard != (None, None) for each in kinds)
    return events.Decided(
        games,
        played=[bool(each.decision) for each in found],
        causes=causes if any(causes) else None,
        answers=_answers(judged) if answered else None,
        heard=[list(each.heard) for each in found] if heard else None,
    )


def _late(games: list[events.Game], judged: list[_Judged]) -> events.Late:
    return events.Late(
        games,
        played=[each.found.decision for each in judged],
        answers=_answers(judged),
        first=[not each.game.late for each in judged],
        missing=[each.game.state == "expired" for each in judged],
    )


_EVENTS: dict[str, Callable[[list[events.Game], list[_Judged]], events.Event]] = {
    "answered": lambda games, judged: events.Answered(games, _answers(judged)),
    "decided": _decided,
    "noted": lambda games, judged: events.Noted(games, _answers(judged)),
    "late": _late,
}


def _as_sent(report: Report) -> events.SentReport:
    return {"outcome": outcome_of(report.played), "answers": list(report.answers)}


def _contradicting(
    work: UnitOfWork, id: str, game: OpenGame | GameRecord, said: Report
) -> RefusalError:
    def shown(report: Report) -> dict[str, Any]:
        answers = views.answers(game.players, report.answers, work.name)
        return {"outcome": outcome_of(report.played), "answers": answers}

    return RefusalError(
        "contradicting-outcome",
        f"game {id!r} has another outcome already: the first report counts, the one sent now "
        "is noted in the log and changes nothing",
        {"game": id, "state": game.state, "sent": shown(said), "stored": shown(game.known)},
    )


def show_game(pool: Pool, transaction: Transaction, game: str) -> dict[str, Any]:
    """Show a game."""
    key = pool.ids.find_game(game)
    record = None if key is None else transaction.games(pool.number, [key]).get(key)
    if record is None:
        proposed_at = None if key is None else key.matching
        check_not_archived(game, proposed_at, transaction.archived_before(pool.number))
        raise unknown_game(game)
    return views.game(record, pool.ids, views.namer(pool, transaction, record.players))


def unknown_game(game: str) -> RefusalError:
    """Make the refusal of a game that does not exist."""
    return RefusalError(
        "no-such-game", f"no game has the id {game!r}: send the id that the matching gave it"
    )
