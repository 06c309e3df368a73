"""A problem as notebooks show it: who plays with whom, and how likely they are to play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pairup.html_table import Strong, html_table

if TYPE_CHECKING:
    from pairup.problem import Problem

_MAX_PLAYERS = 20  # rows of a table
_MAX_COLUMNS = 12  # players of a matrix
_MAX_MATCHED = 200  # players of a matrix whose best matching is found in no time


def problem_html(problem: Problem) -> str:
    """Write a problem as a table: its pieces, its rates, or the rates of its couples."""
    title = f"{problem.name or 'Problem'}: {problem.players} players"
    if problem.sides is not None:
        title = f"{problem.name or 'Problem'}: {problem.sides[0]} rows, {problem.sides[1]} columns"
    if len(problem.starts) > 1:
        return html_table(
            title, ("from round", "best matching", "games per round"), _pieces(problem)
        )
    if problem.players > _MAX_MATCHED and not problem.has_player_rates:
        return html_table(f"{title}\nEach couple has a rate of its own.", (), ())
    title += f"\nThe best matching plays {problem.best_games:.4g} games per round."
    if problem.sides is not None:
        heads = ("row", "acceptance rate", "best column", "its acceptance rate")
        return html_table(title, heads, _sides(problem))
    if problem.has_player_rates:
        return html_table(title, ("player", "acceptance rate", "best partner"), _rates(problem))
    if problem.players <= _MAX_COLUMNS:
        title += " Its couples are in bold."
        return html_table(title, ("", *range(problem.players)), _matrix(problem))
    return html_table(title, ("couple of the best matching", "plays with"), _couples(problem))


def _pieces(problem: Problem) -> Iterator[tuple[object, ...]]:
    for start, piece in list(zip(problem.starts, problem.pieces, strict=True))[:_MAX_PLAYERS]:
        couples = ", ".join(f"{i}-{j}" for i, j in piece.optimum[:_MAX_COLUMNS])
        more = ", ..." if piece.pairs > _MAX_COLUMNS else ""
        yield f"{start:,}", couples + more, f"{piece.best_games:.4g}"
    if len(problem.starts) > _MAX_PLAYERS:
        yield "...", f"{len(problem.starts) - _MAX_PLAYERS} more changes", ""


def _rates(problem: Problem) -> Iterator[tuple[object, ...]]:
    for player, rate in enumerate(problem.rates[:_MAX_PLAYERS].tolist()):
        partner = problem.optimum.partner(player)
        yield player, f"{rate:.4g}", "waits" if partner is None else partner
    if problem.players > _MAX_PLAYERS:
        yield "...", f"{problem.players - _MAX_PLAYERS} more players", ""


def _sides(problem: Problem) -> Iterator[tuple[object, ...]]:
    """Write the couples of the optimum, then who waits, on either side."""
    rates, (rows, _) = problem.rates.tolist(), problem.sides or (0, 0)
    shown = problem.optimum[:_MAX_PLAYERS]
    for row, column in shown:
        yield row, f"{rates[row]:.4g}", column, f"{rates[column]:.4g}"
    for player in problem.optimum.waiting[: _MAX_PLAYERS - len(shown)]:
        waits = player, f"{rates[player]:.4g}"
        yield (*waits, "waits", "") if player < rows else ("waits", "", *waits)
    left = problem.players - problem.pairs - _MAX_PLAYERS
    if left > 0:
        yield "...", f"{left} more", "", ""


def _matrix(problem: Problem) -> Iterator[tuple[object, ...]]:
    for i, row in enumerate(problem.couple_rates.tolist()):
        best = problem.optimum.partner(i)
        shown = [f"{rate:.4g}" for rate in row]
        cells = [Strong(text) if j == best else text for j, text in enumerate(shown)]
        yield Strong(i), *cells[:i], "", *cells[i + 1 :]


def _couples(problem: Problem) -> Iterator[tuple[object, ...]]:
    for i, j in problem.optimum[:_MAX_PLAYERS]:
        yield f"{i}-{j}", f"{problem.couple_rates[i, j]:.4g}"
    if problem.pairs > _MAX_PLAYERS:
        yield f"... {problem.pairs - _MAX_PLAYERS} more couples", ""
