"""Reports of games as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pairup.service.domain import events
from pairup.service.domain.events import Answer, Outcome
from pairup.service.domain.games import OPEN, GameKey, GameRecord
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
from pairup.service.problems import RefusalError, outcome_path
from pairup.service.store import Transaction


class SentReport(NamedTuple):
    """A report as it was sent: of a game by its id, with answers by name."""

    game: str
    outcome: Outcome | None
    answers: Mapping[str, Answer]


class _Batch:
    """What the reports of a request lead to, written as few events.

    Otherwise a log would grow by as much as anyone cares to send, and each outcome would cost an
    event of its own.
    """

    def __init__(self, work: UnitOfWork, reports: Sequence[SentReport]) -> None:
        self._work, find = work, work.pool.ids.find_game
        self.keys = {sent.game: find(sent.game) for sent in reports}  # None: not an id
        work.load_games({key for key in self.keys.values() if key})
        self._judged: dict[str, dict[GameKey, tuple[GameRecord, Judgement]]] = {
            "answered": {},
            "decided": {},
            "noted": {},
            "late": {},
        }
        self._after: dict[GameKey, GameRecord] = {}  # records of those games
        self.repeated: list[GameKey] = []
        self.contradicting: list[tuple[GameKey, Report]] = []

    def game(self, key: GameKey) -> GameRecord | None:
        """Return the record of a game as the reports so far leave it, None if there is none."""
        return self._after.get(key) or self._work.game(key)

    def add(self, kind: str, record: GameRecord, found: Judgement, after: GameRecord) -> GameRecord:
        """Note what a report leads to; what an earlier one about this game led to happens first."""
        if record.key in self._after:
            self._add_judged()
        self._judged[kind][record.key] = record, found
        self._after[record.key] = after
        return after

    def _add_judged(self) -> None:
        """Let one event of each kind tell of all games that were judged."""
        for kind, judged in self._judged.items():
            if judged:
                games = [list(key) for key in judged]
                self._work.add(_EVENTS[kind](games, list(judged.values())))
                judged.clear()
        self._after.clear()

    def finish(self) -> None:
        """Let the rest happen: what was judged, and one event for reports that change nothing."""
        most = events.MAX_NAMED_GAMES
        self._add_judged()
        if games := self.repeated:
            named = [list(key) for key in games[:most]]
            self._work.add(events.Repeated(named, len(games[most:])))
        if refused := self.contradicting:
            named = [list(key) for key, _ in refused[:most]]
            sent = [_as_sent(report) for _, report in refused[:most]]
            self._work.add(events.Contradicted(named, sent, len(refused[most:])))


_Judged = list[tuple[GameRecord, Judgement]]


def _answered(games: list[events.Game], judged: _Judged) -> events.Answered:
    return events.Answered(games, [list(found.known.answers) for _, found in judged])


def _noted(games: list[events.Game], judged: _Judged) -> events.Noted:
    return events.Noted(games, [list(found.known.answers) for _, found in judged])


def _decided(games: list[events.Game], judged: _Judged) -> events.Decided:
    found = [each for _, each in judged]
    causes = [each.cause for each in found]
    answers = [list(each.known.answers) for each in found]
    heard = [list(each.heard) for each in found]
    return events.Decided(
        games,
        played=[bool(each.decision) for each in found],
        causes=causes if any(causes) else None,
        answers=answers if any(map(any, answers)) else None,
        heard=heard if any(said is not None for both in heard for said in both) else None,
    )


def _late(games: list[events.Game], judged: _Judged) -> events.Late:
    return events.Late(
        games,
        played=[found.decision for _, found in judged],
        answers=[list(found.known.answers) for _, found in judged],
        first=[not record.late for record, _ in judged],
        missing=[record.state == "expired" for record, _ in judged],
    )


_EVENTS = {"answered": _answered, "decided": _decided, "noted": _noted, "late": _late}


def _as_sent(report: Report) -> events.SentReport:
    return {"outcome": outcome_of(report.played), "answers": list(report.answers)}


@contextmanager
def _batch(work: UnitOfWork, reports: Sequence[SentReport]) -> Iterator[_Batch]:
    batch = _Batch(work, reports)
    try:
        yield batch
    finally:
        batch.finish()


def report_outcome(work: UnitOfWork, sent: SentReport) -> dict[str, Any]:
    """Take in a report of a game."""
    with _batch(work, [sent]) as batch:
        return _take_in(work, sent, batch)


def report_outcomes(
    work: UnitOfWork, reports: Sequence[SentReport]
) -> dict[str, list[dict[str, Any]]]:
    """Take in reports of several games; each is answered as if it had been sent alone."""
    with _batch(work, reports) as batch:
        return {"results": [_result(work, sent, batch) for sent in reports]}


def _result(work: UnitOfWork, sent: SentReport, batch: _Batch) -> dict[str, Any]:
    try:
        return _take_in(work, sent, batch)
    except RefusalError as refusal:
        problem = refusal.as_json(outcome_path(sent.game))
        return {"game": sent.game, "result": "refused", "problem": problem}


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


def _take_in(work: UnitOfWork, sent: SentReport, batch: _Batch) -> dict[str, Any]:
    """Take in a report; returns what became of it, and the game as it leaves it."""
    record = _find(work, sent.game, batch)
    # Names are looked up where they matter: most reports of a batch are outcomes alone.
    names = [work.name(player) for player in record.players] if sent.answers else ("", "")
    try:
        said = read_report(sent.outcome, sent.answers, names)
    except InconsistentReportError as error:
        raise RefusalError("invalid-request", str(error)) from None
    found = judge(said, record.known, work.pool.rules.timeout_declines)
    if found.contradicts:
        batch.contradicting.append((record.key, said))
        raise _contradicting(work, sent.game, record, said)
    result, after = _decide(work, record, found, batch)
    return {
        "game": sent.game,
        "result": result,
        "state": after.state,
        "outcome": outcome_of(after.played),
        "answers": views.answers(after.players, after.answers, work.name),
        "cause": after.cause,
        "learnt": after.learnt,
    }


def _find(work: UnitOfWork, id: str, batch: _Batch) -> GameRecord:
    key = batch.keys[id]
    record = None if key is None else batch.game(key)
    if record is not None:
        return record
    check_not_archived(id, None if key is None else key.matching, work.archived_before)
    raise RefusalError(
        "no-such-game",
        f"game {id!r} is not in pool {work.pool.name!r}: report the id that the matching gave it",
    )


def _contradicting(work: UnitOfWork, id: str, record: GameRecord, said: Report) -> RefusalError:
    def shown(report: Report) -> dict[str, Any]:
        answers = views.answers(record.players, report.answers, work.name)
        return {"outcome": outcome_of(report.played), "answers": answers}

    return RefusalError(
        "contradicting-outcome",
        f"game {id!r} has another outcome already: the first report counts, the one sent now "
        "is noted in the log and changes nothing",
        {"game": id, "state": record.state, "sent": shown(said), "stored": shown(record.known)},
    )


def _decide(
    work: UnitOfWork, record: GameRecord, found: Judgement, batch: _Batch
) -> tuple[str, GameRecord]:
    """Note what follows from a report that does not contradict what is known."""
    answers, played = found.known.answers, found.decision
    if record.state == OPEN and played is not None:
        after = record.decided(played, found.cause, answers, work.now)
        return "learnt", batch.add("decided", record, found, after)
    if not found.adds:
        batch.repeated.append(record.key)
        return "repeated", record
    if record.state == OPEN:
        return "noted", batch.add("answered", record, found, record._replace(answers=answers))
    if record.state in ("released", "expired"):
        after = record._replace(late=True, played=played, answers=answers)
        return "late", batch.add("late", record, found, after)
    return "noted", batch.add("noted", record, found, record._replace(answers=answers))
