"""A service that says it is ready compiles nothing more."""

import subprocess
import sys

import pytest

_SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from pairup.policies import get_policy
from pairup.service.domain.rules import Rules
from pairup.service.pools.warmup import warm_up
from pairup.testing.life_calls import LifeDraw
from pairup.testing.lives import Life
from pairup.testing.variants import Variant

name, options = sys.argv[1], eval(sys.argv[2])
variant = Variant(get_policy(name, **options) if name else Rules().make_policy())
warm_up(variant.given)
compile = Dispatcher.compile

def compile_and_tell(kernel, signature):
    known = len(kernel.overloads)
    compiled = compile(kernel, signature)
    if len(kernel.overloads) > known:
        print(kernel.py_func.__module__, kernel.py_func.__name__, "for", call)
    return compiled

Dispatcher.compile = compile_and_tell
for seed, players in enumerate((0, 3, 7, 8, 70)):
    draw = LifeDraw(seed, variant.given, plays_graphs=False)  # pools have none
    life = Life(variant, [draw.new_player() for _ in range(players)], seed)
    for _ in range(60):
        for call in draw.turn(life.learner):
            life.live(call)
"""


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("", {}),
        ("unimodal", {}),
        ("unimodal_thompson", {"compare": "matchings"}),
        ("osub", {}),
        ("explore_then_commit", {"cycles": 2}),
    ],
)
def test_whatever_a_pool_can_be_asked_for_is_compiled_before_it_is_ready(policy, options):
    command = [sys.executable, "-c", _SCRIPT, policy, repr(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
