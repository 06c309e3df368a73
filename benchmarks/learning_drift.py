"""Drift: half of the rates change at once, and a pool follows if what it learnt fades.

    python -m benchmarks.service_learning drift

Two pools, with a half-life by the rule `memory_s` and without one, play the same crowd. In the
middle of the run half of the players get another rate. Rounds have a fixed pace, as the half-life
is a time.
"""

import itertools

from benchmarks.served_pools import served, share_of_way
from pairup import Problem
from pairup.client.demo import Crowd, Habits, Pace, Simulation

_LEVEL = 0.8  # of the share of the way before the change
_WINDOW = 20  # rounds of a mean


def show(options, distribution):
    """Print how far each pool goes before the change and after it."""
    memory_s = options.half_life * options.pace
    for answers in (True, False):
        told = "answers of each player" if answers else "outcomes of couples"
        for memory in (memory_s, None):
            rounds = _rounds(options, distribution, Habits(answers=answers), memory)
            fades = f"half-life {options.half_life} rounds" if memory else "no memory rule"
            print(f"told the {told}, {fades}: {_summary(rounds, options.half_life)}", flush=True)


def _rounds(options, distribution, habits, memory_s):
    with served() as client:
        rates = Problem.random(options.players, options.seed, distribution).rates
        crowd = Crowd(rates.tolist(), distribution, options.seed)
        client.create_pool("drift", lifetime_s=600, memory_s=memory_s)
        playing = iter(Simulation(client, "drift", crowd, habits, Pace(round_s=options.pace)))
        before = list(itertools.islice(playing, options.rounds // 2))
        crowd.change(0.5)
        return [*before, *itertools.islice(playing, options.rounds - len(before))]


def _summary(rounds, half_life):
    changed = len(rounds) // 2
    before = share_of_way(rounds[changed - 2 * _WINDOW : changed])
    means = [
        share_of_way(rounds[at : at + _WINDOW]) for at in range(changed, len(rounds) - _WINDOW)
    ]
    back = next((at for at, way in enumerate(means) if way >= _LEVEL * before), None)
    after = share_of_way(rounds[changed + 3 * half_life - _WINDOW : changed + 3 * half_life])
    when = "never" if back is None else f"after {(back + _WINDOW) / half_life:.1f} half-lives"
    return (
        f"{before:.0%} of the way before the change, {means[0]:.0%} right after it, {after:.0%} "
        f"after three half-lives ({after / before:.0%} of before); at {_LEVEL:.0%} of it {when}"
    )
