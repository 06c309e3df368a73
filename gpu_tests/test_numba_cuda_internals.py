"""numba-cuda has what `cuda_target` uses of it.

Needs no GPU: `pytest --noconftest gpu_tests/test_numba_cuda_internals.py` where it is installed.
"""

import inspect
from pkgutil import resolve_name

import numba
import numpy as np
import pytest

from pairup import Uniform
from pairup.compiled.steps import set_available_step
from pairup.policies.contract import StartContext
from tests.support.requirements import check_internals, imported_names

FILE = "simulation/batches/cuda_target.py"


def takes(name, *parameters):
    """Whether something has these parameters, in this order."""

    def found():
        known = inspect.signature(resolve_name(name)).parameters
        return [each for each in known if each in parameters] == list(parameters)

    return found


def has(name, *attributes):
    """Whether something has these attributes."""
    return lambda: all(hasattr(resolve_name(name), each) for each in attributes)


def is_replaced_where_it_is_called(name, attribute):
    """Whether a module calls a function of its own by that name, which we replace."""
    return lambda: f"{attribute}(" in inspect.getsource(resolve_name(name))


def multiplies_and_adds_apart():
    """Whether the compiler obeys that a * b + c is rounded twice."""
    from numba import cuda
    from numba.cuda import types

    from pairup.simulation.batches.cuda_target import _choose_arithmetic

    _choose_arithmetic()
    text, _ = cuda.compile_ptx(
        lambda a, b, c: a * b + c, (types.float64,) * 3, device=True, cc=(9, 0)
    )
    return "mul.rn.f64" in text and "fma" not in text


def calls_steps_by_the_type_of_a_state():
    """Whether device code finds the step that `steps.provide` bound to a state's class."""
    from numba import cuda
    from numba.cuda import types

    from pairup.simulation.batches.cuda_target import _assume_device

    _assume_device((9, 0))
    state = Uniform().start(StartContext(4, np.uint64(0)))
    arguments = (numba.typeof(state), types.int64[::1])
    text, _ = cuda.compile_ptx(set_available_step.py_func, arguments, device=True, cc=(9, 0))
    return "st.u64" in text or "st.b64" in text


NEEDED = {name: name for library in ("numba", "llvmlite") for name in imported_names(library, FILE)}
NEEDED |= {
    "compile_ptx": takes("numba.cuda:compile_ptx", "pyfunc", "sig", "device", "cc"),
    "launch bounds": takes("numba.cuda:compile_ptx", "launch_bounds"),
    "nvvm.compile_ir": takes("numba.cuda.cudadrv.nvvm:compile_ir", "llvmir"),
    "the address space of shared memory": has("numba.cuda.cudadrv.nvvm", "ADDRSPACE_SHARED"),
    "the device that is compiled for": is_replaced_where_it_is_called(
        "numba.cuda.dispatcher", "get_current_device"
    ),
    "cgutils": has("numba.cuda.cgutils", "intp_t", "voidptr_t", "alloca_once"),
    "cgutils.pointer_add": takes(
        "numba.cuda.cgutils:pointer_add", "builder", "ptr", "offset", "return_type"
    ),
    "addresses by cgutils.pointer_add": is_replaced_where_it_is_called(
        "numba.cuda.np.arrayobj", "cgutils.pointer_add"
    ),
    "cgutils.add_global_variable": takes(
        "numba.cuda.cgutils:add_global_variable", "module", "ty", "name", "addrspace"
    ),
    "cgutils.insert_pure_function": takes(
        "numba.cuda.cgutils:insert_pure_function", "module", "fnty", "name"
    ),
    "the arguments of populate_array": takes(
        "numba.cuda.np.arrayobj:populate_array",
        *("array", "data", "shape", "strides", "itemsize", "meminfo"),
    ),
    "two roundings of a * b + c": multiplies_and_adds_apart,
    "overloads that numba.extending knows": calls_steps_by_the_type_of_a_state,
}


@pytest.mark.parametrize("name", NEEDED)
def test_numba_cuda_has_what_is_used_of_its_internals(name):
    check_internals("numba-cuda", FILE, {name: NEEDED[name]})
