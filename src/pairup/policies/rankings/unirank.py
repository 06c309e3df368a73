"""UniRank: rank items by comparing those that share a block, and merge blocks that may be wrong.

The leader is an ordered partition of the items into *blocks*; within a block the order is open.
What is proposed is the leader with some successive blocks merged, each block shuffled, the first
item in the best position. Two items of a block are compared in each round in which just one of
them plays; `wins[i, j]` counts the rounds in which that was `i`. An item that is not displayed does
not play.

The logarithms are taken when a comparison changes, not when it is used: `doubt[j, i]` is the level
above which the index of "j beats i" exceeds one half, so that blocks are merged by comparing
numbers. The leader is found again only when who beats whom has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples import leader_counts
from pairup.compiled.couples.kl_index import exploration_level, kl, kl_index
from pairup.compiled.couples.leader_counts import CELL, NO_CELL, TURN_PLACES, LeaderCounts
from pairup.compiled.couples.statistics import CoupleStatistics, record
from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.graph_matcher import write_nobody
from pairup.compiled.randomness import shuffle, word
from pairup.compiled.state_fields import ROUND, Flags, Integers, Keys, Reals, new_state
from pairup.compiled.steps import FULL, OK, provide
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import LeaderCountingPolicy
from pairup.policies.registry import register

# Places of counters.
(
    ITEMS,  # items available
    POSITIONS,  # positions available
    BLOCKS,  # of the leader
    LISTED,  # items in the blocks that were proposed
    _COUNTERS,  # how many there are
) = range(TURN_PLACES, TURN_PLACES + 5)

_NEVER_COMPARED = -1.0
_SOON = 3  # up to this many times as leader a partition is doubted everywhere


@register
@dataclass(frozen=True)
class UniRank(LeaderCountingPolicy):
    """Rank the rows by comparing those that may be in the wrong order (Gauthier et al., 2022).

    For two sides: rows are *items*, columns *positions* whose order by rate is known. The leader
    puts the items into blocks, best first. It is displayed with successive blocks merged wherever
    an item of the lower block may still be better than one of the upper block; the items of a block
    are shuffled. Items are compared when they share a block and just one of them plays.

    Notes
    -----
    Where the article and its authors' code differ, this is the code, which plays better:

    - the leader's blocks are the items that lose against none of those left, again and again, where
      i loses against j when the mean of c_i - c_j is below -sqrt(log log(t + 3) / n) (the article
      takes the smallest set that beats all others, by the sign of the mean);
    - all successive blocks that may be wrong are merged at once, from the top, each at most once,
      and one hidden item joins the last block displayed (the article merges one couple of blocks);
    - a comparison never made, or a leader that has led less than three times, is in doubt (in the
      article a comparison never made promises nothing).

    As in the article, two blocks are compared by all their couples; the code takes the first item
    of one with the first of the other, and so on. Only outcomes of a whole matching, observed
    before the next one is proposed, tell of blocks; others are counted but not compared.

    Examples
    --------
    >>> from pairup import Problem, UniRank, simulate
    >>> problem = Problem.two_sided([0.9, 0.6, 0.3, 0.1], [1.0, 0.5])
    >>> run = simulate(problem, UniRank(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 200  # of the 1,150 that matchings drawn at random lose
    np.True_
    """

    name: ClassVar[str] = "unirank"
    needs_sides: ClassVar[bool] = True
    is_told_column_order: ClassVar[bool] = True
    serves_pools: ClassVar[bool] = False  # the players of a pool are on one side
    nominal_ns: ClassVar[int] = 40

    def sizes(self, context: StartContext) -> dict[str, int]:
        assert context.columns is not None  # check_sides() saw to it
        return super().sizes(context) | {"columns": int(context.columns.sum())}

    def start(self, context: StartContext) -> UniRankState:
        assert context.columns is not None
        assert context.column_order is not None  # is_told_column_order
        return new_state(
            UniRankState,
            self.sizes(context),
            keys=context.keys(2),
            is_row=np.append(~context.columns, False),
            column_order=np.array(context.column_order, np.int64),
        )

    def leader(self, state: Any) -> NDArray[np.int64]:
        find_leader(state)
        shown = state.counters[POSITIONS]
        couples = np.stack([state.ranking[:shown], state.positions[:shown]], axis=1)
        return np.sort(couples, axis=1)


class UniRankState(NamedTuple):
    """State of `UniRank`."""

    stats: CoupleStatistics
    counts: LeaderCounts
    wins: np.ndarray = Integers("slots, slots", saved=True, by_couple=True)  # by slots
    # [j, i]: above this level j may be better than i; -1: always.
    doubt: np.ndarray = Reals("slots, slots")
    # [i, j]: j is better than i, at the leader's small margin.
    loses: np.ndarray = Flags("slots, slots")
    keys: np.ndarray = Keys(2)  # of shuffles, and of ties between items
    counters: np.ndarray = Integers(_COUNTERS)
    due_margin: np.ndarray = Reals(1)  # at which the leader must be found again
    is_row: np.ndarray = Flags("slots")  # by slot
    column_order: np.ndarray = Integers("columns")  # slots of the columns, best first
    items: np.ndarray = Integers("slots + 1")  # those available, the first ITEMS
    # Those available, best first: the first POSITIONS.
    positions: np.ndarray = Integers("slots + 1")
    ranking: np.ndarray = Integers("slots + 1")  # the leader: items, block by block
    start: np.ndarray = Integers("slots + 1")  # of each block in `ranking`, and the end of the last
    # What was proposed: items, block by block, the first LISTED.
    listed: np.ndarray = Integers("slots + 1")
    block: np.ndarray = Integers("slots + 1")  # of each place in `listed`, where its block starts
    marked: np.ndarray = Flags("slots")  # workspace, by slot: False between steps


def _set_available(state, players):
    counters = state.counters
    counters[ITEMS] = counters[POSITIONS] = counters[LISTED] = 0
    state.marked[:] = False
    for i in players:
        state.marked[i] = True
        if state.is_row[i]:
            state.items[counters[ITEMS]] = i
            counters[ITEMS] += 1
    for j in state.column_order:
        if state.marked[j] and counters[POSITIONS] < counters[ITEMS]:
            state.positions[counters[POSITIONS]] = j
            counters[POSITIONS] += 1
    state.marked[:] = False
    _find_margin(state)


def _propose(state, couples):
    counters = state.counters
    margin = log(log(float(counters[ROUND] + 3)))
    if margin >= state.due_margin[0]:
        _find_margin(state)
    if counters[CELL] == NO_CELL:
        find_leader(state)
        counters[CELL] = leader_counts.find(state.counts, _fingerprint(state))
        if counters[CELL] == NO_CELL:
            return FULL
    state.counts.counts[counters[CELL]] += 1
    counters[ROUND] += 1
    _list_items(state, state.counts.counts[counters[CELL]])
    for k in range(counters[POSITIONS]):
        i, j = state.listed[k], state.positions[k]
        couples[k, 0], couples[k, 1] = min(i, j), max(i, j)
    write_nobody(couples, counters[POSITIONS])
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = couples[c, 0], couples[c, 1]
        record(state.stats, i, j, played[c])
        if played[c]:
            state.marked[i if state.is_row[i] else j] = True
    if _is_proposal(state, couples):
        _compare(state)
    for c in range(len(played)):
        state.marked[couples[c, 0]] = state.marked[couples[c, 1]] = False


provide(UniRankState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def _is_proposal(state, couples):
    """Whether `couples` are all those that were proposed last: others tell nothing of blocks."""
    counters = state.counters
    if len(couples) != counters[POSITIONS] or counters[LISTED] == 0:
        return False
    for c in range(len(couples)):
        i, j = couples[c, 0], couples[c, 1]
        item, position = (i, j) if state.is_row[i] else (j, i)
        found = False
        for k in range(counters[POSITIONS]):
            found = found or (state.listed[k] == item and state.positions[k] == position)
        if not found:
            return False
    return True


@kernel
def _compare(state):
    """Compare the items of each block that was proposed."""
    first, listed = 0, state.counters[LISTED]
    while first < listed:
        last = first
        while last < listed and state.block[last] == first:
            last += 1
        for x in range(first, last):
            winner = state.listed[x]
            if not state.marked[winner]:
                continue
            for y in range(first, last):
                loser = state.listed[y]
                if not state.marked[loser]:
                    state.wins[winner, loser] += 1
                    _note_comparison(state, winner, loser)
        first = last
    state.counters[LISTED] = 0  # it counts once


@kernel
def _note_comparison(state, i, j):
    """The wins of `i` and `j` against each other have changed."""
    state.doubt[i, j], state.doubt[j, i] = _doubt(state, i, j), _doubt(state, j, i)
    margin = log(log(float(state.counters[ROUND] + 3)))
    lead = float(state.wins[i, j] - state.wins[j, i])
    proof = lead * lead / float(state.wins[i, j] + state.wins[j, i])
    i_loses, j_loses = lead < 0.0 and proof > margin, lead > 0.0 and proof > margin
    if i_loses != state.loses[i, j] or j_loses != state.loses[j, i]:
        state.loses[i, j], state.loses[j, i] = i_loses, j_loses
        state.counters[CELL] = NO_CELL
    if i_loses or j_loses:
        state.due_margin[0] = min(state.due_margin[0], proof)


@kernel
def _doubt(state, j, i):
    """The level at which the KL index of the share of wins of `j` over `i` reaches one half."""
    tries = state.wins[i, j] + state.wins[j, i]
    if tries == 0 or state.wins[j, i] >= state.wins[i, j]:
        return _NEVER_COMPARED
    return tries * kl(state.wins[j, i] / tries, 0.5)


@outlined
def _find_margin(state):
    """Find who beats whom at the margin of this round, and when that changes by itself."""
    margin = log(log(float(state.counters[ROUND] + 3)))
    state.due_margin[0], state.counters[CELL] = np.inf, NO_CELL
    for x in range(state.counters[ITEMS]):
        for y in range(state.counters[ITEMS]):
            i, j = state.items[x], state.items[y]
            state.doubt[j, i] = _doubt(state, j, i)
            lead = float(state.wins[j, i] - state.wins[i, j])
            proof = lead * lead / float(max(state.wins[i, j] + state.wins[j, i], 1))
            state.loses[i, j] = lead > 0.0 and proof > margin
            if state.loses[i, j]:
                state.due_margin[0] = min(state.due_margin[0], proof)


@kernel
def find_leader(state):
    """Peel off, again and again, the items that lose against none of those left."""
    counters, ranking, ranked = state.counters, state.ranking, 0
    for x in range(counters[ITEMS]):
        ranking[x] = state.items[x]
    counters[BLOCKS] = 0
    while ranked < counters[ITEMS]:
        state.start[counters[BLOCKS]] = ranked
        counters[BLOCKS] += 1
        best = ranked
        for x in range(ranked, counters[ITEMS]):
            state.marked[ranking[x]] = not _loses_to_any(state, ranking[x], ranked)
        for x in range(ranked, counters[ITEMS]):
            i = ranking[x]
            if state.marked[i]:
                state.marked[i] = False
                for y in range(x, best, -1):  # the others keep their order
                    ranking[y] = ranking[y - 1]
                ranking[best] = i
                best += 1
        ranked = best if best > ranked else counters[ITEMS]
    state.start[counters[BLOCKS]] = counters[ITEMS]


@kernel
def _loses_to_any(state, i, ranked):
    """Whether an item loses against one of those from place `ranked` on."""
    for x in range(ranked, state.counters[ITEMS]):
        if state.loses[i, state.ranking[x]]:
            return True
    return False


@kernel
def _fingerprint(state):
    """A hash of the leader that does not depend on the order within blocks."""
    key = np.uint64(0)
    for b in range(state.counters[BLOCKS]):
        for x in range(state.start[b], state.start[b + 1]):
            key += word(np.uint64(b), state.ranking[x])
    return key | np.uint64(1)


@kernel
def _list_items(state, led):
    """Fill the positions: merge blocks from the top, then let one hidden item join the last."""
    counters, start, positions = state.counters, state.start, state.counters[POSITIONS]
    level = exploration_level(led) if led >= _SOON else np.inf
    luck = word(state.keys[0], counters[ROUND])
    counters[LISTED], b = 0, 0
    while b < counters[BLOCKS] and start[b + 1] < positions:
        end = b + 2 if _may_be_wrong(state, b, level) else b + 1
        _list_block(state, start[b], start[end], -1, luck)
        b = end
    if b < counters[BLOCKS] and start[b] < positions:
        guest = _find_guest(state, b, level)
        _list_block(state, start[b], start[b + 1], guest, luck)


@kernel
def _may_be_wrong(state, b, level):
    """Whether an item of the block after `b` may be better than one of block `b`."""
    for x in range(state.start[b], state.start[b + 1]):
        for y in range(state.start[b + 1], state.start[b + 2]):
            if state.doubt[state.ranking[y], state.ranking[x]] < level:
                return True
    return False


@kernel
def _find_guest(state, b, level):
    """The most promising item of the first block after `b` that has one that may be better."""
    for other in range(b + 1, state.counters[BLOCKS]):
        best, guest = 0.5, -1
        for y in range(state.start[other], state.start[other + 1]):
            j, value = state.ranking[y], 0.0
            for x in range(state.start[b], state.start[b + 1]):
                value = max(value, _index(state, j, state.ranking[x], level, max(value, best)))
            if value > best or (guest >= 0 and value == best and _is_luckier(state, j, guest)):
                best, guest = value, j
        if guest >= 0:
            return guest
    return -1


@kernel
def _is_luckier(state, i, rival):
    key = word(state.keys[1], state.counters[ROUND])
    return word(key, i) > word(key, rival)


@kernel
def _index(state, j, i, level, needed):
    """The KL index of the share of wins of `j` over `i`; or 0 where it stays below `needed`."""
    won, lost = state.wins[j, i], state.wins[i, j]
    if won + lost == 0 or level == np.inf:
        return 1.0
    if state.doubt[j, i] >= level:
        return 0.0
    tries = won + lost
    mean = won / tries
    if mean < needed - 1e-12 and needed < 1.0 and tries * kl(mean, needed - 1e-12) > level:
        return 0.0
    return kl_index(mean, tries, level)


@kernel
def _list_block(state, first, last, guest, luck):
    """List the items of the leader from `first` to `last`, and the guest, as one shuffled block."""
    begin, end = state.counters[LISTED], state.counters[LISTED]
    for x in range(first, last):
        state.listed[end] = state.ranking[x]
        end += 1
    if guest >= 0:
        state.listed[end] = guest
        end += 1
    shuffle(word(luck, begin), state.listed[begin:end])
    for x in range(begin, end):
        state.block[x] = begin
    state.counters[LISTED] = end
