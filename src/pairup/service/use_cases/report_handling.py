"""Reports of games as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pairup.service.domain import events
from pairup.service.domain.game_record import OPEN, GameRecord, name_answers
from pairup.service.domain.game_report import (
    InconsistentReportError,
    Judgement,
    Report,
    Told,
    judge,
    outcome_of,
)
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.ids import check_not_archived
from pairup.service.use_cases.unit_of_work import UnitOfWork


class _Batch:
    """What the reports of a request lead to, written as few events.

    Otherwise a log would grow by as much as anyone cares to send, and each outcome would cost an
    event of its own.
    """

    def __init__(self, work: UnitOfWork) -> None:
        self._work = work
        self._decided: dict[str, tuple[GameRecord, Judgement]] = {}
        self.repeated: list[str] = []
        self.contradicting: list[tuple[str, Report]] = []

    def game(self, id: str) -> GameRecord | None:
        """Return the record of a game as the reports so far leave it, None if there is none."""
        return self._decided[id][0] if id in self._decided else self._work.game(id)

    def decide(self, record: GameRecord, found: Judgement) -> None:
        """Let it be learnt what became of an open game."""
        answers = name_answers(record.players, found.known.answers)
        played = bool(found.decision)
        after = record.decided(played, found.cause, answers, self._work.now)
        self._decided[record.id] = after, found

    def add(self, game: str, event: events.Event) -> None:
        """Let something else happen to a game; what was decided about it, happens first."""
        if game in self._decided:
            self.add_decided()
        self._work.add(event)

    def add_decided(self) -> None:
        """Let one event tell of all games that were decided."""
        decided = self._decided
        if len(decided) == 1:
            ((record, found),) = decided.values()
            self._work.add(_one_decided(record, found))
        elif decided:
            self._work.add(_many_decided([found for _, found in decided.values()], list(decided)))
        self._decided = {}

    def finish(self) -> None:
        """Let the rest happen: what was decided, and one event for reports that change nothing."""
        most = events.MAX_NAMED_GAMES
        self.add_decided()
        if games := self.repeated:
            self._work.add(events.Repeated(games[:most], len(games[most:])))
        if self.contradicting:
            (game, said), *others = self.contradicting
            named = [other for other, _ in others[:most]]
            self._work.add(events.Contradicted(game, said.as_json(), named, len(others[most:])))


def _one_decided(record: GameRecord, found: Judgement) -> events.Decided:
    heard = zip(record.players, found.heard, strict=True)
    return events.Decided(
        game=record.id,
        played=bool(found.decision),
        cause=found.cause,
        answers=record.answers,
        heard={player: yes for player, yes in sorted(heard) if yes is not None},
    )


def _many_decided(found: list[Judgement], games: list[str]) -> events.GamesDecided:
    answers = [list(each.known.answers) for each in found]
    heard = [list(each.heard) for each in found]
    return events.GamesDecided(
        games=games,
        played=[bool(each.decision) for each in found],
        causes=[each.cause for each in found],
        answers=answers if any(map(any, answers)) else None,
        heard=heard if any(yes is not None for both in heard for yes in both) else None,
    )


@contextmanager
def _batch(work: UnitOfWork) -> Iterator[_Batch]:
    batch = _Batch(work)
    try:
        yield batch
    finally:
        batch.finish()


def report_outcome(work: UnitOfWork, game: str, report: Report) -> dict[str, Any]:
    """Take in a report of a game."""
    work.load_games([game])
    with _batch(work) as batch:
        return _take_in(work, game, report, batch)


def report_outcomes(
    work: UnitOfWork, reports: Sequence[tuple[str, Report]]
) -> dict[str, list[dict[str, Any]]]:
    """Take in reports of several games; each is answered as if it had been sent alone."""
    work.load_games({game for game, _ in reports})
    with _batch(work) as batch:
        return {"results": [_result(work, game, report, batch) for game, report in reports]}


def _result(work: UnitOfWork, game: str, report: Report, batch: _Batch) -> dict[str, Any]:
    try:
        return _take_in(work, game, report, batch)
    except RefusalError as refusal:
        problem = refusal.as_json(f"/v1/games/{game}/outcome")
        return {"game": game, "result": "refused", "problem": problem}


def unknown_game(game: str) -> RefusalError:
    """Make the refusal of a game that does not exist."""
    return RefusalError(
        "no-such-game", f"no game has the id {game!r}: send the id that the matching gave it"
    )


def _take_in(work: UnitOfWork, id: str, report: Report, batch: _Batch) -> dict[str, Any]:
    """Take in a report; returns what became of it, and the game as it leaves it."""
    record = batch.game(id)
    if record is None:
        check_not_archived(id, work.archived_before)
    if record is None or record.pool_id != work.pool.id:
        raise RefusalError(
            "no-such-game",
            f"game {id!r} is not in pool {work.pool.name!r}: report the id that the matching gave "
            "it",
        )
    try:
        said = report.told(record.players)
    except InconsistentReportError as error:
        raise RefusalError("invalid-request", str(error)) from None
    found = judge(said, _known(record), work.pool.rules.timeout_declines)
    if found.contradicts:
        checked = report.checked(record.players)
        batch.contradicting.append((id, checked))
        stored = record.known.as_json()
        raise RefusalError(
            "contradicting-outcome",
            f"game {id!r} has another outcome already: the first report counts, the one sent now "
            "is noted in the log and changes nothing",
            {"game": id, "state": record.state, "sent": checked.as_json(), "stored": stored},
        )
    result = _decide(record, found, batch)
    after = batch.game(id)
    assert after is not None
    return {
        "game": id,
        "result": result,
        "state": after.state,
        "outcome": outcome_of(after.played),
        "answers": after.answers,
        "cause": after.cause,
        "learnt": after.learnt,
    }


def _known(record: GameRecord) -> Told:
    if not record.answers:
        return Told(record.played, None, None)
    one, other = (record.answers.get(player) for player in record.players)
    return Told(record.played, one, other)


def _decide(record: GameRecord, found: Judgement, batch: _Batch) -> str:
    """Let happen what follows from a report that does not contradict what is known."""
    if record.state == OPEN and found.decision is not None:
        batch.decide(record, found)
        return "learnt"
    if not found.adds:
        batch.repeated.append(record.id)
        return "repeated"
    answers = name_answers(record.players, found.known.answers)
    if record.state == OPEN:
        batch.add(record.id, events.Answered(record.id, answers))
        return "noted"
    if record.state in ("released", "expired"):
        batch.add(
            record.id,
            events.Late(
                game=record.id,
                played=found.decision,
                answers=answers,
                first=not record.late,
                missing=record.state == "expired",
            ),
        )
        return "late"
    batch.add(record.id, events.Noted(record.id, answers))
    return "noted"
