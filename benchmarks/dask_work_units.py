"""How many work units per second pass through a Dask scheduler, and how many bytes each moves.

    python -m benchmarks.dask_work_units

Two worker processes on this machine, work units of a single round: what is measured is the way
there and back, not the work. docs/how-to/run-on-a-cluster.md reads the figures.
"""

import os
import pickle
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from pairup import Problem, Uniform, load_experiment, run_experiment
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.results import unit_rows
from pairup.experiments.storage import write_part
from pairup.experiments.work_units import split_into_units

UNITS = 4_000


def timed(work, count):
    """How many per second, and the milliseconds of this process's own CPU that each took.

    The scheduler runs in this process too. On a busy machine believe the second figure.
    """
    start, busy = time.perf_counter(), time.process_time()
    work()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    return f"{count / seconds:8,.0f} per second, {busy / count * 1e3:.2f} ms of CPU each"


def nothing(number):
    return number


def small_experiment():
    problems = (
        PosedProblem(Problem(np.full(4, n / UNITS), f"p{n}"), "rates", {"rates": n})
        for n in range(UNITS)
    )
    return Experiment("tiny", "", "", 1, 1, 0, tuple(problems), (Entry("U", Uniform()),))


def through_dask(experiment):
    with (
        LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        executor = client.get_executor(pure=False)
        list(executor.map(nothing, range(100)))

        def submit_all():
            for future in [executor.submit(nothing, n) for n in range(UNITS)]:
                future.result()

        def run_all():
            run_experiment(experiment, folder, executor=executor)

        yield "empty tasks by Dask", timed(submit_all, UNITS)
        yield "work units of one round by Dask, to results.parquet", timed(run_all, UNITS)


def locally(experiment):
    with tempfile.TemporaryDirectory() as folder:

        def run_all():
            run_experiment(experiment, folder)

        yield "work units of one round by threads, to results.parquet", timed(run_all, UNITS)
        yield "the same again, all reused", timed(run_all, UNITS)


def bytes_moved():
    units = split_into_units(load_experiment("experiment-1"))
    unit = max(units, key=lambda each: len(each.replications))
    shape = len(unit.replications), len(unit.checkpoints)
    numbers = np.random.default_rng(0).random(shape).cumsum(axis=1), np.ones(shape, np.int64)
    yield "work units of experiment 1", f"{len(units)}"
    yield "replications in its largest", f"{shape[0]}"
    yield "bytes to the worker", f"{len(pickle.dumps(unit)):,}"
    yield "bytes back", f"{len(pickle.dumps(numbers)):,}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "parts").mkdir()
        keys = [f"{n:064}" for n in range(1_000)]

        def write():
            for key in keys:
                write_part(
                    Path(folder), key, unit_rows(unit.replications, unit.checkpoints, numbers)
                )

        yield "parts written", timed(write, len(keys))
        yield "bytes of a part", f"{next(Path(folder, 'parts').iterdir()).stat().st_size:,}"


def main():
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {UNITS:,} work units")
    experiment = small_experiment()
    for figures in (bytes_moved(), locally(experiment), through_dask(experiment)):
        for what, figure in figures:
            print(f"{what:52}{figure}", flush=True)


if __name__ == "__main__":
    main()
