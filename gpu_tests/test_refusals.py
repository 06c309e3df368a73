"""What is missing is said in one line; each case is a process of its own."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = "from pairup import *; simulate(Problem([0.9, 0.2]), SAM(), 10, 1, engine='cuda')"


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, "needs an NVIDIA GPU, and finds none"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "needs an NVIDIA GPU, and finds none"),
    ],
)
def test_without_a_gpu_one_line_says_so(environment, missing):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert missing in done.stderr.splitlines()[-1]
    assert "SimulationError" in done.stderr.splitlines()[-1]


def test_ctrl_c_ends_a_run_within_seconds():
    program = (
        # What starts the tests may ignore or block the signal, which is inherited.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT]);"
        "from pairup import *; simulate(Problem([0.9, 0.2]), SAM(), 10, 1, engine='cuda');"
        "print('ready', flush=True);"
        "simulate(Problem([0.9, 0.2]), SAM(), 10**9, 64, engine='cuda')"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(3)
    began, ended = time.monotonic(), process.poll()
    process.send_signal(signal.SIGINT)
    try:
        said = process.communicate(timeout=30)[1]
    finally:
        process.kill()
    print(f"ended before: {ended}, after {time.monotonic() - began:.1f} s: {said}")
    assert ended is None
    assert time.monotonic() - began < 10
    assert "KeyboardInterrupt" in said
