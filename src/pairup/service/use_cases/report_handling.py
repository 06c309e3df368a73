"""Reports of games as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pairup.service.domain import events
from pairup.service.domain.game_record import OPEN, GameRecord
from pairup.service.domain.game_report import InconsistentReportError, Report
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.ids import check_not_archived
from pairup.service.use_cases.unit_of_work import UnitOfWork


@dataclass
class _Changeless:
    """Reports of a request that change no game.

    One event tells of many; otherwise a log would grow by as much as anyone cares to send.
    """

    repeated: list[str] = field(default_factory=list)
    contradicting: list[tuple[str, Report]] = field(default_factory=list)

    def add_to(self, work: UnitOfWork) -> None:
        """Let one event of each kind happen."""
        most = events.MAX_NAMED_GAMES
        if games := self.repeated:
            work.add(events.Repeated(games[:most], len(games[most:])))
        if self.contradicting:
            (game, said), *others = self.contradicting
            named = [other for other, _ in others[:most]]
            work.add(events.Contradicted(game, said.as_json(), named, len(others[most:])))


@contextmanager
def _collecting(work: UnitOfWork) -> Iterator[_Changeless]:
    found = _Changeless()
    try:
        yield found
    finally:
        found.add_to(work)


def report_outcome(work: UnitOfWork, game: str, report: Report) -> dict[str, Any]:
    """Take in a report of a game."""
    work.load_games([game])
    with _collecting(work) as changeless:
        return _take_in(work, game, report, changeless)


def report_outcomes(
    work: UnitOfWork, reports: Sequence[tuple[str, Report]]
) -> dict[str, list[dict[str, Any]]]:
    """Take in reports of several games; each is answered as if it had been sent alone."""
    work.load_games({game for game, _ in reports})
    with _collecting(work) as changeless:
        return {"results": [_result(work, game, report, changeless) for game, report in reports]}


def _result(work: UnitOfWork, game: str, report: Report, changeless: _Changeless) -> dict[str, Any]:
    try:
        return _take_in(work, game, report, changeless)
    except RefusalError as refusal:
        problem = refusal.as_json(f"/v1/games/{game}/outcome")
        return {"game": game, "result": "refused", "problem": problem}


def unknown_game(game: str) -> RefusalError:
    """Make the refusal of a game that does not exist."""
    return RefusalError(
        "no-such-game", f"no game has the id {game!r}: send the id that the matching gave it"
    )


def _take_in(work: UnitOfWork, id: str, report: Report, changeless: _Changeless) -> dict[str, Any]:
    """Take in a report; returns what became of it, and the game as it leaves it."""
    record = work.game(id)
    if record is None:
        check_not_archived(id, work.archived_before)
    if record is None or record.pool_id != work.pool.id:
        raise RefusalError(
            "no-such-game",
            f"game {id!r} is not in pool {work.pool.name!r}: report the id that the matching gave "
            "it",
        )
    try:
        said = report.checked(record.players)
    except InconsistentReportError as error:
        raise RefusalError("invalid-request", str(error)) from None
    if said.contradicts(record.known):
        changeless.contradicting.append((id, said))
        stored = record.known.as_json()
        raise RefusalError(
            "contradicting-outcome",
            f"game {id!r} has another outcome already: the first report counts, the one sent now "
            "is noted in the log and changes nothing",
            {"game": id, "state": record.state, "sent": said.as_json(), "stored": stored},
        )
    result = _decide(work, record, said, changeless)
    after = work.game(id)
    assert after is not None
    head = {"game": id, "result": result, "state": after.state}
    return {**head, **after.known.as_json(), "cause": after.cause, "learnt": after.learnt}


def _decide(work: UnitOfWork, record: GameRecord, said: Report, changeless: _Changeless) -> str:
    """Let happen what follows from a report that does not contradict what is known."""
    id, known = record.id, said.merged(record.known)
    answers = dict(known.answers)
    if record.state == OPEN and known.decision is not None:
        heard = known.heard(work.pool.rules.timeout_declines)
        work.add(
            events.Decided(
                game=id, played=known.decision, cause=known.cause, answers=answers, heard=heard
            )
        )
        return "learnt"
    if not said.adds_to(record.known):
        changeless.repeated.append(id)
        return "repeated"
    if record.state == OPEN:
        work.add(events.Answered(id, answers))
        return "noted"
    if record.state in ("released", "expired"):
        work.add(
            events.Late(
                game=id,
                played=known.decision,
                answers=answers,
                first=not record.late,
                missing=record.state == "expired",
            )
        )
        return "late"
    work.add(events.Noted(id, answers))
    return "noted"
