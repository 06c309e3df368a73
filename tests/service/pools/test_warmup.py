"""A service that says it is ready compiles nothing more."""

import subprocess
import sys

import pytest

from pairup.compiled import kernel_cache
from pairup.policies import Uniform
from pairup.service.pools import warmup
from pairup.side_process import SideProcessError

_SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from pairup.policies import get_policy
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.pools.warmup import warm_up
from pairup.testing.lives import Life, LifeDraw
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
    draw = LifeDraw(seed, variant.given, plays_graphs=True)
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


@pytest.fixture
def aside(monkeypatch, tmp_path):
    """List what is compiled aside and what is run here, from an empty folder of kernels."""
    done = []
    monkeypatch.setattr(kernel_cache, "FOLDER", str(tmp_path / "kernels"))
    monkeypatch.setattr(warmup, "run_steps", lambda policy: done.append("here"))
    monkeypatch.setattr(warmup, "call_aside", lambda name, policy: done.append(name))
    warmup._warm_up.cache_clear()
    yield done
    warmup._warm_up.cache_clear()


def test_the_compiler_runs_in_another_process_once(aside):
    warmup.warm_up(Uniform())
    assert aside == ["pairup.service.pools.warmup:run_steps", "here"]
    warmup._warm_up.cache_clear()  # as in the next process
    warmup.warm_up(Uniform())
    assert aside[2:] == ["here"]


def test_what_fails_in_the_other_process_is_compiled_here(aside, monkeypatch):
    def fail(*_):
        aside.append("failed")
        raise SideProcessError("no memory")

    monkeypatch.setattr(warmup, "call_aside", fail)
    warmup.warm_up(Uniform())
    warmup._warm_up.cache_clear()
    warmup.warm_up(Uniform())
    assert aside == ["failed", "here"] * 2  # and nothing says that it is on the disk


def test_policies_that_other_processes_do_not_know_are_compiled_here(aside):
    class Own(Uniform):
        pass

    warmup.warm_up(Own())
    assert aside == ["here"]
