"""All policies are compiled first, side by side: one after the other it would take half an hour."""

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from gpu_tests.cases import cases, compile_for_cpu, replications
from pairup import simulate


def _compile_for_gpu(case):
    policy, problem = case
    try:
        simulate(problem, policy, 1, replications(policy), engine="cuda")
    except Exception as error:  # the test of this case fails with it
        return f"{policy} on {problem.name}: {error}"
    return None


@pytest.fixture(scope="session", autouse=True)
def compiled():
    began, cores = time.monotonic(), os.cpu_count() or 1
    chosen = cases()
    numbered = reversed(list(enumerate(chosen)))
    first = {(type(each), each.options.get("search")): place for place, (each, _) in numbered}
    spawn = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(cores, mp_context=spawn) as processes,
        ThreadPoolExecutor(cores) as threads,
    ):
        for_cpu = [processes.submit(compile_for_cpu, place) for place in first.values()]
        failures = [line for line in threads.map(_compile_for_gpu, chosen) if line]
        for future in for_cpu:
            future.result()
    print(f"\ncompiled in {time.monotonic() - began:.0f} s", *failures, sep="\n")
