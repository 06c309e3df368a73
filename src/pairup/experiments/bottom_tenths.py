"""Bottom tenths: what policies leave to the players with the lowest chances, by experiment."""

from __future__ import annotations

from collections.abc import Mapping

from pairup.experiments.experiment import Experiment
from pairup.simulation.bottom_tenth import measure_bottom_tenth

Bottoms = Mapping[tuple[str, str], float]  # shares, by the problem's name and the policy's label


def measure_bottoms(experiment: Experiment) -> Bottoms:
    """Measure, by problem and policy, what is left to the bottom tenth of the players.

    The first replication of each policy is played again.

    Examples
    --------
    >>> from pairup import Oracle, Problem, compare
    >>> played = compare(Problem.around(0.5, 2, 0.2), [Oracle()], rounds=50, replications=1)
    >>> {each: round(share, 3) for each, share in measure_bottoms(played.experiment).items()}
    {('around(0.5, 2, 0.2)', 'Oracle()'): 0.75}
    """
    rounds, seed = experiment.rounds, experiment.seed
    return {
        (posed.problem.name, entry.label): measure_bottom_tenth(
            posed.problem, entry.policy, rounds, seed
        ).share
        for entry in experiment.entries
        for posed in experiment.problems
    }
