"""The loop over a batch, written for a layout: the same text for every target.

A batch has the replication as the last axis of each array, so that neighbouring threads of a GPU
read neighbouring numbers. The loop takes the arrays of one replication, plays, and writes them
back; the steps are those of `play_rounds`. A target supplies the functions that the text calls:

- `first(count, spread)` and `step(spread)`: which replications this thread plays;
- `array_at(address, shape, dtype)`: the array at an address;
- `local_array(capacity, dtype)`: memory of the thread's own, or its part of the memory that threads
  share, `shared_array(capacity, dtype, at)`; and `shaped(memory, shape)`;
- `take`, `give`, `copy`, `fill`: see below;
- `play_rounds` and `set_available`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.simulation.batches.layout import Layout, Leaf

BEGIN = 0  # instead of a round to play to: the policy gets the players available
_HEADER = 3  # entries of the table before the sizes: status, players, and their number


def loop_source(layout: Layout) -> str:
    """Write the loop of a layout."""
    addresses = _HEADER + len(layout.names)
    entries = addresses + 2 * len(layout.leaves)
    head = [
        "def loop(until, count, spread, address):",
        f"    table = array_at(address, ({entries},), int64)",
        "    status = array_at(table[0], (count,), int64)",
        "    players = array_at(table[1], (table[2],), int64)",
        *(f"    {name} = table[{_HEADER + place}]" for place, name in enumerate(layout.names)),
        "    for r in range(first(count, spread), count, step(spread)):",
    ]
    body = []
    for place, leaf in enumerate(layout.leaves):
        body += _taking(place, leaf, addresses + 2 * place)
    body += _playing(layout.trees)
    for place, leaf in enumerate(layout.leaves):
        body += [] if leaf.in_place else [f"give(m{place}, b{place}, r)"]
    return "\n".join([*head, *(f"        {line}" for line in body)]) + "\n"


def _taking(place: int, leaf: Leaf, entry: int) -> list[str]:
    """Write how a leaf becomes the variable v of its place.

    The table has two addresses: that of the batch, and what all replications begin with, or 0.
    """
    shape = "".join(f"{size}, " for size in leaf.shape)
    elements, dtype = " * ".join(map(str, leaf.shape)), f"type{place}"
    lines = [f"b{place} = array_at(table[{entry}], ({elements}, count), {dtype})"]
    start = f"array_at(table[{entry + 1}], ({elements},), {dtype})"
    if leaf.in_place:
        axes = ":, " * len(leaf.shape)
        return [
            *lines,
            f"if table[{entry + 1}] != 0:",
            f"    fill(b{place}, {start}, r)",
            f"v{place} = array_at(table[{entry}], ({shape}count), {dtype})[{axes}r]",
        ]
    capacity, at = max(leaf.capacity, 1), leaf.shared_at
    local = f"local_array({capacity}, {dtype})"
    shared = f"shared_array({capacity}, {dtype}, {at})"
    return [
        *lines,
        f"m{place} = {local if at is None else shared}",
        f"if table[{entry + 1}] != 0:",
        f"    copy(m{place}, {start})",
        "else:",
        f"    take(m{place}, b{place}, r)",
        f"v{place} = shaped(m{place}, ({shape}))",
    ]


def _playing(trees: tuple[Any, ...]) -> list[str]:
    variables = (f"v{place}" for place in itertools.count())
    state, replication, totals = (_expression(tree, variables) for tree in trees)
    return [
        f"state = {state}",
        f"if until == {BEGIN}:",
        "    set_available(state, players)",
        "    status[r] = 0",
        "else:",
        f"    status[r] = play_rounds(state, {replication}, {totals}, until)",
    ]


def _expression(tree: Any, variables: Iterator[str]) -> str:
    """Write the call that makes a NamedTuple from variables."""
    if not isinstance(tree, tuple):
        return next(variables)
    parts = ", ".join(_expression(part, variables) for part in tree)
    return f"{type(tree).__name__}({parts})"


def define_loop(layout: Layout, target: dict[str, Any]) -> Callable[..., None]:
    """Define the loop of a layout with the functions of a target."""
    scope = _classes(layout.trees) | {"int64": np.int64} | target
    for place, leaf in enumerate(layout.leaves):
        scope[f"type{place}"] = np.dtype(leaf.dtype).type
    exec(compile(loop_source(layout), "<pairup batch loop>", "exec"), scope)
    loop: Callable[..., None] = scope["loop"]
    return loop


def _classes(tree: Any) -> dict[str, Any]:
    found = {type(tree).__name__: type(tree)} if hasattr(tree, "_fields") else {}
    for part in tree if isinstance(tree, tuple) else ():
        found |= _classes(part)
    return found


def make_table(
    status: int, players: tuple[int, int], sizes: Sequence[int], addresses: Sequence[int]
) -> NDArray[np.int64]:
    """Fill the table that a loop reads: where all is, and how large."""
    return np.array([status, *players, *sizes, *addresses], np.int64)


# Copies, element by element: every target compiles them.


def take(own: Any, batch: Any, r: int) -> None:
    """Read the numbers of replication r from a batch."""
    for x in range(batch.shape[0]):
        own[x] = batch[x, r]


def give(own: Any, batch: Any, r: int) -> None:
    """Write the numbers of replication r to a batch."""
    for x in range(batch.shape[0]):
        batch[x, r] = own[x]


def copy(own: Any, start: Any) -> None:
    """Begin with the numbers that all replications begin with."""
    for x in range(start.shape[0]):
        own[x] = start[x]


def fill(batch: Any, start: Any, r: int) -> None:
    """Write the numbers that all replications begin with to replication r of a batch."""
    for x in range(start.shape[0]):
        batch[x, r] = start[x]


COPIES: dict[str, Callable[..., None]] = {
    function.__name__: function for function in (take, give, copy, fill)
}
