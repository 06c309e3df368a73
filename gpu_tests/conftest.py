"""All policies are compiled first, side by side: one after the other it would take half an hour."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpu_tests.cases import REPLICATIONS, cases
from pairup import simulate
from pairup.simulation.compilation import compile_loops


def _compile_for_gpu(case):
    policy, problem = case
    try:
        simulate(problem, policy, 1, REPLICATIONS, engine="cuda")
    except Exception as error:  # the test of this case fails with it
        return f"{policy} on {problem.name}: {error}"
    return None


@pytest.fixture(scope="session", autouse=True)
def compiled():
    began, chosen = time.monotonic(), cases()
    compile_loops((problem, policy) for policy, problem in chosen)
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as threads:
        failures = [line for line in threads.map(_compile_for_gpu, chosen) if line]
    print(f"\ncompiled in {time.monotonic() - began:.0f} s", *failures, sep="\n")
