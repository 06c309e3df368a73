"""Outcomes as they come: in time, in part, late, twice, or contradicting each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pairup.service.domain import events as happened
from pairup.service.domain.records import OPEN, GameRecord
from pairup.service.domain.reports import InconsistentError, Report, read
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.unit_of_work import Changes

Result = Literal["learnt", "noted", "late", "repeated"]


@dataclass(frozen=True)
class Sent:
    """What was sent about a game."""

    game: str
    outcome: str | None
    answers: Mapping[str, str]


@dataclass(frozen=True)
class Receipt:
    """What a report did."""

    game: str
    result: Result
    state: str
    known: Report
    cause: str | None
    learnt: bool  # now or before

    def as_json(self) -> dict[str, Any]:
        """Return the answer to the report."""
        stored = {**self.known.as_json(), "cause": self.cause, "learnt": self.learnt}
        return {"game": self.game, "result": self.result, "state": self.state, **stored}


def report(changes: Changes, sent: Sent, record: GameRecord | None) -> Receipt:
    """Take in a report of a game whose record is `record`."""
    if record is None or record.pool_id != changes.pool.id:
        raise RefusalError(
            "no-such-game",
            f"game {sent.game!r} is not in pool {changes.pool.name!r}: report the id that the "
            "matching gave it",
        )
    try:
        said = read(sent.outcome, sent.answers, record.players)
    except InconsistentError as error:
        raise RefusalError("invalid-request", str(error)) from None
    if sent.game in changes.pool.games:
        return _in_time(changes, sent.game, said)
    return _afterwards(changes, record, said)


def _in_time(changes: Changes, id: str, said: Report) -> Receipt:
    known = changes.pool.games[id].known
    _check(changes, id, said, known, OPEN)
    together = said.joined(known)
    if together.decision is None:
        if not said.adds_to(known):
            return _repeated(changes, id, OPEN, known, None, learnt=False)
        changes.add(happened.Answered(id, dict(sorted(together.answers.items()))))
        return Receipt(id, "noted", OPEN, together, None, learnt=False)
    heard = together.heard(changes.pool.rules.timeout_declines)
    played, cause = together.decision, together.cause
    answers = dict(sorted(together.answers.items()))
    changes.add(happened.Decided(id, played, cause, answers, heard))
    state = "played" if played else "cancelled"
    return Receipt(id, "learnt", state, Report(played, answers), cause, learnt=True)


def _afterwards(changes: Changes, record: GameRecord, said: Report) -> Receipt:
    known, id = record.known, record.id
    _check(changes, id, said, known, record.state)
    if not said.adds_to(known):
        return _repeated(changes, id, record.state, known, record.cause, record.learnt)
    together = said.joined(known)
    answers = dict(sorted(together.answers.items()))
    now = Report(together.decision, answers)
    if record.state not in ("released", "expired"):
        changes.add(happened.Noted(id, answers))
        return Receipt(id, "noted", record.state, now, record.cause, record.learnt)
    missing = record.state == "expired"
    changes.add(happened.Late(id, now.played, answers, not record.late, missing))
    return Receipt(id, "late", record.state, now, record.cause, record.learnt)


def _check(changes: Changes, id: str, said: Report, known: Report, state: str) -> None:
    if not said.contradicts(known):
        return
    changes.add(happened.Contradicted(id, said.as_json()))
    raise RefusalError(
        "contradicting-outcome",
        f"game {id!r} has another outcome already: the first report counts, what was sent now is "
        "noted in the log and changes nothing",
        {"game": id, "state": state, "sent": said.as_json(), "stored": known.as_json()},
    )


def _repeated(
    changes: Changes, id: str, state: str, known: Report, cause: str | None, learnt: bool
) -> Receipt:
    changes.add(happened.Repeated([id]))
    return Receipt(id, "repeated", state, known, cause, learnt)
