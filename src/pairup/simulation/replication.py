"""A replication, as the simulator and the environment for third-party agents play it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import ACCEPTANCES, LABELS, shuffle, stream_key, word
from pairup.compiled.simulation_loop import NO_RATES, Replication
from pairup.compiled.state_fields import new_state
from pairup.problem import Problem
from pairup.problem.meeting_graph import MeetingGraph


def new_replication(problem: Problem, seed: int, number: int) -> Replication:
    """Make one replication of a problem; all its draws follow from the seed and the number.

    Player i is player ``labels[i]`` of the problem, for a shuffle that is drawn from them too. The
    replications of the pieces of a problem whose rates change share the labels and the draws.
    """
    together = new_replications(problem, seed, [number])
    return Replication._make(np.ascontiguousarray(field[..., 0]) for field in together)


def new_replications(problem: Problem, seed: int, numbers: Sequence[int]) -> Replication:
    """Make many replications at once: their arrays have the replication as the last axis."""
    count, labels = len(numbers), _labels(problem, seed, numbers).T
    square = labels[:, None], labels[None, :]
    own: dict[str, NDArray[Any]] = {
        "key": stream_keys(seed, numbers, ACCEPTANCES)[None],
        "best_games": np.full((1, count), problem.best_games),
    }
    if problem.sides is not None:
        own["is_common"] = np.full((1, count), problem.draws == "common")
    elif problem.graph is not None:
        own["worth"] = problem.graph.worth_table()[square]
    if problem.has_player_rates:
        own["rates"] = problem.rates[labels]
    else:
        own["couple_rates"] = problem.couple_rates[square]
    rest = (np.repeat(field[..., None], count, -1) for field in new_state(Replication, NO_RATES))
    return Replication._make(rest)._replace(**own)


def stream_keys(seed: int, numbers: Sequence[int], purpose: int) -> NDArray[np.uint64]:
    """Return the keys of a stream of each replication."""
    keys = np.empty(len(numbers), np.uint64)
    _fill_keys(seed, np.asarray(numbers, np.int64), purpose, keys)
    return keys


@kernel
def _fill_keys(seed, numbers, purpose, keys):  # type: ignore[no-untyped-def]
    for r in range(len(keys)):
        keys[r] = stream_key(seed, numbers[r], purpose)


def stream_words(keys: NDArray[np.uint64], index: int) -> NDArray[np.uint64]:
    """Return the word at `index` of the stream of each key."""
    words = np.empty(len(keys), np.uint64)
    _fill_words(keys, index, words)
    return words


@kernel
def _fill_words(keys, index, words):  # type: ignore[no-untyped-def]
    for r in range(len(keys)):
        words[r] = word(keys[r], index)


class Ground(NamedTuple):
    """Where a replication is played, with its labels: on two sides, on a graph, or on neither."""

    columns: NDArray[np.bool_] | None = None  # which players are columns
    graph: MeetingGraph | None = None  # who may meet, and what games are worth


def replicated_ground(problem: Problem, seed: int, number: int) -> Ground:
    """Return where a replication is played."""
    (labels,) = _labels(problem, seed, [number])
    if problem.sides is not None:
        return Ground(columns=labels >= problem.sides[0])
    if problem.is_complete or problem.graph is None:
        return Ground()
    return Ground(graph=problem.graph.relabelled(labels))


def _labels(problem: Problem, seed: int, numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return the labels of the players in each replication, a row for each."""
    labels = np.empty((len(numbers), problem.players), np.int64)
    _fill_labels(stream_keys(seed, numbers, LABELS), labels)
    return labels


@kernel
def _fill_labels(keys, labels):  # type: ignore[no-untyped-def]
    for r in range(len(keys)):
        for i in range(labels.shape[1]):
            labels[r, i] = i
        shuffle(keys[r], labels[r])
