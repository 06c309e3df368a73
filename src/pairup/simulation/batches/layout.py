"""The layout of a replication: its arrays, and which of their sizes the loop knows beforehand.

A loop is generated for a layout. Sizes that are the same for every number of players are constants
in it. The others are named, and told at run time, so that one loop plays problems of several sizes:
to compile a loop for a GPU takes longer than to play most problems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Size = int | str  # a constant, or the name of a size
THREADS_PER_BLOCK = 64  # of a GPU: those that share memory
BLOCKS_PER_MULTIPROCESSOR = 4  # with up to 255 registers for each thread


@dataclass(frozen=True)
class Leaf:
    """An array of a replication; `capacity` is the greatest number of its elements.

    The loop works on a copy of each array, or in place where it is large or may grow. A copy with
    `shared_at` lies in memory that threads share, that many bytes into a thread's part of it.
    """

    dtype: str
    shape: tuple[Size, ...]
    capacity: int
    in_place: bool = False
    shared_at: int | None = None

    @property
    def nbytes(self) -> int:
        """Greatest size in bytes."""
        return self.capacity * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Layout:
    """What a loop is generated for.

    `trees` are a policy's state, a `Replication` and `Totals`: NamedTuples, of NamedTuples and of
    leaves. `names` are the sizes that the loop reads.
    """

    trees: tuple[Any, ...]
    names: tuple[str, ...]

    @property
    def leaves(self) -> list[Leaf]:
        """All leaves in order."""
        return leaves(self.trees)

    @property
    def shared_bytes(self) -> int:
        """Size of a thread's part of the shared memory."""
        return sum(leaf.nbytes for leaf in self.leaves if leaf.shared_at is not None)

    def sizes(self, trees: tuple[Any, ...]) -> list[int] | None:
        """Return the sizes of a replication in the order of `names`; None if it does not fit."""
        found: dict[Size, int] = {}
        for leaf, array in zip(self.leaves, leaves(trees), strict=True):
            if leaf.capacity < array.size and not leaf.in_place:
                return None
            for size, length in zip(leaf.shape, array.shape, strict=True):
                if found.setdefault(size, length if isinstance(size, str) else size) != length:
                    return None
        return [found[name] for name in self.names]


def leaves(tree: Any) -> list[Any]:
    """List the arrays of a tuple, and of those within it, in order."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def with_leaves(tree: Any, new: Sequence[Any]) -> Any:
    """Return the tuple of the same form with other leaves."""
    return _with_leaves(tree, iter(new))


def _with_leaves(tree: Any, new: Iterator[Any]) -> Any:
    if not isinstance(tree, tuple):
        return next(new)
    parts = [_with_leaves(part, new) for part in tree]
    return tree._make(parts) if hasattr(tree, "_make") else tuple(parts)


Shapes = Sequence[tuple[int, ...]]  # of all arrays


def make_layout(
    trees: tuple[Any, ...],
    shapes: Sequence[Shapes],
    growing: Sequence[bool],
    is_indexed: Sequence[bool],
    max_bytes: float = math.inf,
    shared_bytes: int = 0,
) -> Layout:
    """Lay out replications like `trees`, of the shapes that they have for some numbers of players.

    Of each array `growing` says whether its sizes may change while it is played. Those arrays, and
    arrays of more than `max_bytes`, are used in place if `max_bytes` is finite. `is_indexed` says
    whether its elements are looked up, by player or couple: the smallest of those arrays lie in
    shared memory, of which each replication has `shared_bytes`. A compiler keeps others in
    registers.
    """
    names: dict[Any, str] = {}

    def name(lengths: Any) -> Size:
        first: Size = lengths[0]
        return first if len({*lengths}) == 1 else names.setdefault(lengths, f"n{len(names)}")

    made = []
    for place, (array, grows) in enumerate(zip(leaves(trees), growing, strict=True)):
        own = [each[place] for each in shapes]
        grows = grows and math.isfinite(max_bytes)
        shape = tuple(
            names.setdefault((place, axis), f"n{len(names)}") if grows else name(lengths)
            for axis, lengths in enumerate(zip(*own, strict=True))
        )
        leaf = Leaf(array.dtype.str, shape, max(map(math.prod, own)))
        made.append(replace(leaf, in_place=grows or leaf.nbytes > max_bytes))
    made = _shared(made, is_indexed, shared_bytes)
    return Layout(with_leaves(trees, made), tuple(names.values()))


def _shared(made: Sequence[Leaf], is_indexed: Sequence[bool], room: int) -> list[Leaf]:
    """Place the smallest arrays that are indexed in shared memory, as far as there is room."""
    placed, at = list(made), 0
    for place, leaf in sorted(enumerate(made), key=lambda each: each[1].nbytes):
        if is_indexed[place] and not leaf.in_place and at + leaf.nbytes <= room:
            placed[place] = replace(leaf, shared_at=at)
            at += leaf.nbytes
    return placed


def stacked(replications: Sequence[Any]) -> list[NDArray[Any]]:
    """Join the arrays of replications, each with the replication as its last axis."""
    columns = zip(*(leaves(each) for each in replications), strict=True)
    return [np.stack(column, axis=-1) for column in columns]
