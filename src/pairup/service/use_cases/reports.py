"""Reports of games as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pairup.service.domain import events as happened
from pairup.service.domain.game_record import OPEN, GameRecord
from pairup.service.domain.report import InconsistentReportError, Report
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.unit_of_work import UnitOfWork

Result = Literal["learnt", "noted", "late", "repeated"]


@dataclass(frozen=True)
class Receipt:
    """What became of a report."""

    result: Result
    game: GameRecord  # as the report leaves it

    def as_json(self) -> dict[str, Any]:
        """Return the answer to the report."""
        game = self.game
        head = {"game": game.id, "result": self.result, "state": game.state}
        return {**head, **game.known.as_json(), "cause": game.cause, "learnt": game.learnt}


def report_outcome(work: UnitOfWork, game: str, report: Report) -> dict[str, Any]:
    """Take in a report of a game."""
    work.load_games([game])
    return _take_in(work, game, report).as_json()


def report_outcomes(
    work: UnitOfWork, reports: Sequence[tuple[str, Report]]
) -> dict[str, list[dict[str, Any]]]:
    """Take in reports of several games; each is answered as if it had been sent alone."""
    work.load_games({game for game, _ in reports})
    return {"results": [_result(work, game, report) for game, report in reports]}


def _result(work: UnitOfWork, game: str, report: Report) -> dict[str, Any]:
    try:
        return _take_in(work, game, report).as_json()
    except RefusalError as refusal:
        problem = refusal.as_json(f"/v1/games/{game}/outcome")
        return {"game": game, "result": "refused", "problem": problem}


def _take_in(work: UnitOfWork, id: str, report: Report) -> Receipt:
    record = work.game(id)
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
        work.add(happened.Contradicted(id, said.as_json()))
        raise _contradiction(record, said)
    result = _decide(work, record, said)
    after = work.game(id)
    assert after is not None
    return Receipt(result, after)


def _decide(work: UnitOfWork, record: GameRecord, said: Report) -> Result:
    """Let happen what follows from a report that does not contradict what is known."""
    id, known = record.id, said.merged(record.known)
    answers = dict(known.answers)
    if record.state == OPEN and known.decision is not None:
        heard = known.heard(work.pool.rules.timeout_declines)
        work.add(happened.Decided(id, known.decision, known.cause, answers, heard))
        return "learnt"
    if not said.adds_to(record.known):
        work.add(happened.Repeated([id]))
        return "repeated"
    if record.state == OPEN:
        work.add(happened.Answered(id, answers))
        return "noted"
    if record.state in ("released", "expired"):
        missing = record.state == "expired"
        work.add(happened.Late(id, known.decision, answers, not record.late, missing))
        return "late"
    work.add(happened.Noted(id, answers))
    return "noted"


def _contradiction(record: GameRecord, said: Report) -> RefusalError:
    stored = record.known.as_json()
    return RefusalError(
        "contradicting-outcome",
        f"game {record.id!r} has another outcome already: the first report counts, the one sent "
        "now is noted in the log and changes nothing",
        {"game": record.id, "state": record.state, "sent": said.as_json(), "stored": stored},
    )
