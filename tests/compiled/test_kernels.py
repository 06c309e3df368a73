import contextlib
import os
import pickle
import subprocess
import sys

from pairup.compiled.kernels import kernel, slot


def test_a_kernel_is_compiled_for_python_only_if_python_calls_it():
    @kernel
    def halved(x):
        return x / 2

    @kernel
    def quartered(x):
        return halved(halved(x))

    assert quartered(10) == 2.5
    assert halved.signatures == []
    assert len(halved._inner.signatures) == 2  # of an integer, of a float
    assert halved(10) == 5
    assert len(halved.signatures) == 1


def test_a_kernel_that_was_pickled_is_called_by_kernels_of_another_process():
    program = """if True:
        import pickle, sys
        from pairup.compiled.kernels import kernel
        slot = pickle.load(sys.stdin.buffer)
        print(slot(3), kernel(lambda x: slot(x) + 1)(3))
    """
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, input=pickle.dumps(slot)) == b"3 4\n"


def on_terminal(command, **options):
    """Run a command with standard error on a terminal; returns what it wrote there."""
    master, slave = os.openpty()
    subprocess.run(command, stderr=slave, stdout=subprocess.DEVNULL, check=True, **options)
    os.close(slave)
    with contextlib.suppress(OSError), open(master, "rb", closefd=True) as terminal:
        return terminal.read1(10_000).decode()
    return ""  # a terminal that nobody wrote to cannot be read once it is closed


def test_compiling_is_announced_once_on_a_terminal_and_not_from_a_warm_cache(tmp_path):
    program = (
        "from pairup.compiled.couples.kl_index import kl, slope_at; kl(0.1, 0.2); slope_at(0, 2, 0)"
    )
    command = [sys.executable, "-c", program]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert on_terminal(command, env=environment).count("pairup: compiling") == 1
    assert "pairup" not in on_terminal(command, env=environment)


def test_compiling_is_not_announced_where_there_is_no_terminal(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from pairup.compiled.couples.kl_index import kl; kl(0.1, 0.2)",
    ]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    shown = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert shown.stderr == b""
