"""Pools: their rules change, and they are deleted."""

from __future__ import annotations

from typing import Any

from pairup.errors import PairupError
from pairup.policies import Policy
from pairup.service.domain import events as happened
from pairup.service.domain.pool import Pool
from pairup.service.domain.rules import Rules
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction
from pairup.service.use_cases import views
from pairup.service.use_cases.unit_of_work import UnitOfWork


def read_rules(given: dict[str, Any]) -> Rules:
    """Complete the rules of a new pool, or refuse rules that cannot be."""
    try:
        rules = Rules.of(given)
        rules.make_policy()
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from None
    return rules


def configure(work: UnitOfWork, wanted: dict[str, Any]) -> dict[str, Any]:
    """Change rules of the pool."""
    changes = _changes(work.pool, wanted)
    if changes:
        work.add(happened.Configured(changes))
    return views.pool(work.pool)


def policy_after(pool: Pool, _: Transaction, wanted: dict[str, Any]) -> Policy:
    """Return the policy that the pool will have when its rules are changed."""
    return pool.rules.with_changes(_changes(pool, wanted)).make_policy()


def _changes(pool: Pool, wanted: dict[str, Any]) -> dict[str, Any]:
    """Pick the rules that differ from those of the pool, or refuse rules that cannot be."""
    rules = pool.rules
    if "policy" in wanted and wanted["policy"] != rules.policy:
        wanted = {"options": {}, **wanted}  # those of the former policy do not belong to this one
    changes = {name: value for name, value in wanted.items() if getattr(rules, name) != value}
    try:
        rules.with_changes(changes).make_policy().check_players(len(pool.players))
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from error
    return changes


def delete(work: UnitOfWork) -> None:
    """Delete the pool; open games are released first."""
    games = list(work.pool.games)
    if games:
        work.add(happened.Released(games, "deleted"))
    work.add(happened.Deleted())
