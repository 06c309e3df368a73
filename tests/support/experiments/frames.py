"""Frames of results as `pairup.Results` holds them, made up or simulated."""

import json

import numpy as np
import polars as pl

from pairup import SAM, Problem, Unimodal, simulate

POLICIES = {
    "SAM": SAM(),
    "V1": Unimodal("matchings", "ucb", "round"),
    "V2": Unimodal("players", "ucb", "round"),
}


def rows(policy, regret, problem="p", rounds=(9,), **columns):
    """Rows of one policy on one problem; regret of shape (replications, rounds)."""
    regret = np.asarray(regret, float).reshape(-1, len(rounds))
    count = len(regret)
    given = {
        "experiment": "e",
        "policy": policy,
        "options": "{}",
        "problem": problem,
        "family": "around",
        "players": 8,
        "pairs": 4,
        "param_gap": 0.1,
        "param_mean": 0.5,
        "seed": 0,
    } | columns
    return pl.DataFrame(
        given
        | {
            "replication": np.repeat(np.arange(count), len(rounds)),
            "round": np.tile(np.array(rounds, np.int64), count),
            "regret": regret.ravel(),
            "games": np.zeros(regret.size, np.int64),
        },
        schema_overrides={"param_mean": pl.Float64},
    )


def frame(**regret):
    """Final regret of several policies on one problem, one value per replication."""
    return pl.concat([rows(policy, values) for policy, values in regret.items()])


def simulated(pairs=(2, 4), rounds=3_000, replications=3, policies=POLICIES):
    """Real results on problems of the paper's first experiment."""
    parts = []
    for count in pairs:
        problem = Problem.from_zero(count, 0.1)
        for label, policy in policies.items():
            run = simulate(problem, policy, rounds, replications)
            parts.append(
                rows(
                    label,
                    run.regret,
                    problem.name,
                    run.rounds,
                    options=json.dumps({"name": policy.name} | policy.options),
                    family="from_zero",
                    players=problem.players,
                    pairs=problem.pairs,
                    param_mean=None,
                )
            )
    return pl.concat(parts)
