"""Digests of the numbers that every policy gives, kept in tests/bits.json.

    python -m scripts.bits --check
    python -m scripts.bits --write

Simulated numbers are the same bit for bit, whatever is moved or made faster. A digest covers regret
and games at all checkpoints of a few replications of one policy on one problem. Write the file only
after a change that is meant to change numbers, and say in the commit which and why. The plans of
PMED come from solvers of linear algebra, whose last bits differ on processors without fused
multiply-add.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from pairup import (
    GRAB,
    EpsilonGreedy,
    PolicyError,
    Problem,
    RankOneThompson,
    UnimodalThompson,
    get_policy,
    policy_names,
    simulate,
)
from pairup.policies.contract import check_fit
from pairup.testing.variants import variants_of

FILE = Path(__file__).resolve().parents[1] / "tests" / "bits.json"
_ROUNDS, _REPLICATIONS, _SEED = 1_000, 2, 11
_CHANGE = 400  # rounds before rates change

_EIGHT = (0.83, 0.12, 0.55, 0.97, 0.34, 0.68, 0.41, 0.26)
_LATER = (0.26, 0.97, 0.12, 0.55, 0.83, 0.41, 0.34, 0.68)
_TWELVE = (*_EIGHT, 0.05, 0.9, 0.48, 0.61)
_ROWS, _COLUMNS = (0.3, 0.8, 0.55, 0.1, 0.42), (0.6, 1.0, 0.25)
_NEAR = [(i, j) for i in range(8) for j in range(i) if (i * j + i + j) % 3]
_FEW = [(i, j) for i in range(12) for j in range(i) if i - j < 4]
_WORTH = [[0.25 + (i + j) % 4 / 4 for i in range(8)] for j in range(8)]
# Not of the form of products: rank-one policies are wrong about them.
_MATRIX = [[((i + 1) * (j + 1) * 7 % 19) / 19 for i in range(8)] for j in range(8)]

# By names that do not depend on those of the library, each kind with an odd or unequal size.
PROBLEMS = {
    "two players": Problem([0.5, 0.7]),
    "eight players": Problem(_EIGHT),
    "seven players": Problem(_EIGHT[:7]),
    "ties": Problem([0.5, 0.5, 0.5, 0.3, 0.3, 1.0, 0.0, 0.0]),
    "twelve players": Problem(_TWELVE),
    "one worth": Problem(_EIGHT, worth=[[2.5] * 8] * 8),
    "couples' rates": Problem.from_matrix(_MATRIX),
    "changing rates": Problem.piecewise([0, _CHANGE], [_EIGHT, _LATER]),
    "graph": Problem(_EIGHT, allowed=_NEAR),
    "graph of seven": Problem(_EIGHT[:7], allowed=[(i, j) for i, j in _NEAR if i < 7]),
    "graph with worth": Problem(_EIGHT, allowed=_NEAR, worth=_WORTH),
    "graph of twelve": Problem(_TWELVE, allowed=_FEW),
    "couples' rates on a graph": Problem.from_matrix(_MATRIX, allowed=_NEAR),
    "changing rates on a graph": Problem.piecewise(
        [0, _CHANGE], [Problem(_EIGHT, allowed=_NEAR), Problem(_LATER, allowed=_NEAR)]
    ),
    "more rows": Problem.two_sided(_ROWS, _COLUMNS),
    "more columns": Problem.two_sided(_COLUMNS, _ROWS),
    "equal sides": Problem.two_sided(_EIGHT[:6], _LATER[:6]),
    "common draws": Problem.two_sided(_ROWS, _COLUMNS, draws="common"),
    "changing sides": Problem.piecewise(
        [0, _CHANGE],
        [Problem.two_sided(_ROWS, _COLUMNS), Problem.two_sided(_ROWS[::-1], _COLUMNS)],
    ),
}
# Options that are not a choice of words, which `variants_of` does not try.
_OTHERS = (
    EpsilonGreedy(schedule="constant", epsilon=0.3),
    GRAB(period=3),
    RankOneThompson(period=5),
    RankOneThompson(prior="learned"),
    RankOneThompson(prior=(2.0, 5.0)),
    RankOneThompson(memory=300.0),
    UnimodalThompson(period=5),
)


def policies():
    """Return every registered policy with every choice of its options, by its text."""
    classes = (type(get_policy(name)) for name in policy_names())
    variants = (variant.given for each in classes for variant in variants_of(each))
    return {str(policy): policy for policy in (*variants, *_OTHERS)}


def able(problem):
    """Return the policies that can play a problem, by their text."""
    return {text: policy for text, policy in policies().items() if _fits(policy, problem)}


def _fits(policy, problem):
    try:
        check_fit(policy, problem)
    except PolicyError:
        return False
    return True


def digest(policy, problem):
    """Return a digest of regret and games of a few replications."""
    run = simulate(problem, policy, _ROUNDS, _REPLICATIONS, _SEED)
    return hashlib.sha256(run.regret.tobytes() + run.games.tobytes()).hexdigest()[:16]


def digests(name):
    """Return the digests of all policies that can play a problem, by their text."""
    problem = PROBLEMS[name]
    return {text: digest(policy, problem) for text, policy in able(problem).items()}


def kept():
    """Return the digests of the file, by problem and policy."""
    return json.loads(FILE.read_text("utf-8"))


def different(name):
    """Return the policies whose numbers on a problem differ from the file, or are missing."""
    now, then = digests(name), kept().get(name, {})
    return sorted(text for text in now.keys() | then.keys() if now.get(text) != then.get(text))


def main():
    """Write the file, or compare it with the numbers of today."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--write", action="store_true", help="write tests/bits.json")
    chosen.add_argument("--check", action="store_true", help="fail where numbers differ from it")
    if parser.parse_args().write:
        FILE.write_text(json.dumps({name: digests(name) for name in PROBLEMS}, indent=1) + "\n")
        return 0
    found = [f"{name}: {text}" for name in PROBLEMS for text in different(name)]
    print("\n".join(found) or f"all the same on {len(PROBLEMS)} problems")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
