"""The loop over a batch for an NVIDIA GPU, with the bits of the CPU.

The steps are compiled again for the device, as they are. The compiler must not contract a * b + c
into one rounding; together with a logarithm of our own that makes every number the CPU's, bit for
bit. Only divisions of single precision may be off by two units: no number of a run depends on the
last bits of those.

Called by `memory`, in side processes: the compiler is changed for all of a process.

All that is used of numba-cuda is in this file, internals among it. Any version may change them:
`pyproject.toml` allows only versions that were tried, and `gpu_tests/test_numba_cuda_internals.py`
names what they must have.
"""

from __future__ import annotations

import re
import types as python_types
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, dispatcher, types
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic
from numba.cuda.np.arrayobj import populate_array

from pairup.compiled.simulation_loop import play_rounds
from pairup.compiled.steps import set_available_step
from pairup.simulation.batches.array_intrinsics import make_intrinsics
from pairup.simulation.batches.layout import BLOCKS_PER_MULTIPROCESSOR, THREADS_PER_BLOCK, Layout
from pairup.simulation.batches.loop_source import COPIES, define_loop

ENTRY = "pairup_loop"  # name of the kernel in the machine code


def compile_loop(layout: Layout, capability: tuple[int, int]) -> bytes:
    """Compile the loop of a layout into machine code for GPUs of a compute capability."""
    return _link(compile_to_ptx(layout, capability), capability)


def check_compiler(capability: tuple[int, int]) -> None:
    """Compile a kernel without any steps: fails only if the compiler does not work."""
    text, _ = cuda.compile_ptx(_step, (types.int64,), device=True, cc=capability)
    _link(str(text), capability)


def _link(text: str, capability: tuple[int, int]) -> bytes:
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = LinkerOptions(arch=f"sm_{capability[0]}{capability[1]}")
    linker = Linker(ObjectCode.from_ptx(text.encode()), options=options)
    machine_code: bytes = linker.link("cubin").code
    return machine_code


def compile_to_ptx(layout: Layout, capability: tuple[int, int]) -> str:
    """Compile the loop of a layout as far as needs no GPU."""
    _choose_arithmetic()
    _assume_device(capability)
    _keep_memory_known()
    loop = define_loop(layout, _target())
    bounds = (THREADS_PER_BLOCK, BLOCKS_PER_MULTIPROCESSOR)
    text, _ = cuda.compile_ptx(loop, (types.int64,) * 4, cc=capability, launch_bounds=bounds)
    (name,) = re.findall(r"\.entry\s+(\w+)", text)
    return str(text).replace(name, ENTRY)


def _target() -> dict[str, Any]:
    functions = COPIES | {"first": _first, "step": _step}
    return {
        **make_intrinsics(intrinsic, types, cgutils, populate_array, _shared_memory),
        **{name: cuda.jit(function, device=True) for name, function in functions.items()},
        **_loop_functions(),
    }


def _first(count: int, spread: int) -> int:
    """Replications are spread over the threads: of `spread` neighbours one plays."""
    thread = cuda.grid(1)
    return thread // spread if thread % spread == 0 else count


def _step(spread: int) -> int:
    return cuda.gridsize(1) // spread


def _shared_memory(builder: Any, element: Any, count: int, at: int) -> tuple[Any, int]:
    """Build the address of this thread's first element; neighbours have neighbouring elements.

    All globals without a size begin where the shared memory does. Each array has one of its own, so
    that the compiler knows them apart.
    """
    module, space, number = builder.module, nvvm.ADDRSPACE_SHARED, ir.IntType(32)
    name, kind = f"pairup_shared_{at}", ir.ArrayType(ir.IntType(8), 0)
    memory = module.globals.get(name)
    if memory is None:
        memory = cgutils.add_global_variable(module, kind, name, space)
        memory.linkage, memory.align = "external", 8
    read = ir.FunctionType(number, [])
    thread = cgutils.insert_pure_function(module, read, "llvm.nvvm.read.ptx.sreg.tid.x")
    begin = builder.gep(memory, [number(0), number(at * THREADS_PER_BLOCK)])
    elements = builder.bitcast(begin, ir.PointerType(element, addrspace=space))
    own = builder.gep(elements, [builder.call(thread, [])])
    return builder.addrspacecast(own, element.as_pointer()), THREADS_PER_BLOCK


def _loop_functions() -> dict[str, Any]:
    """Make the loop of a replication for the device, which finds the steps by the state's type."""
    play = cuda.jit(play_rounds.py_func, device=True)

    def play_unchecked(state: Any, replication: Any, totals: Any, until: Any) -> Any:
        return play(state, replication, totals, until, False)

    return {
        "play_rounds": cuda.jit(play_unchecked, device=True),
        "set_available": cuda.jit(set_available_step.py_func, device=True),
    }


def _choose_arithmetic() -> None:
    compile_ir, arithmetic = nvvm.compile_ir, {"fma": False, "prec_div": False}
    nvvm.compile_ir = lambda ir, **options: compile_ir(ir, **options | arithmetic)


def _keep_memory_known() -> None:
    """Compute addresses in strided arrays by pointer arithmetic.

    Numba goes through integers, after which the compiler no longer knows which memory they are in.
    """

    def pointer_add(builder: Any, pointer: Any, offset: Any, return_type: Any = None) -> Any:
        offset = cgutils.intp_t(offset) if isinstance(offset, int) else offset
        moved = builder.gep(builder.bitcast(pointer, cgutils.voidptr_t), [offset])
        return builder.bitcast(moved, return_type or pointer.type)

    cgutils.pointer_add = pointer_add


def _assume_device(capability: tuple[int, int]) -> None:
    """Have Numba compile for a GPU that this process does not open."""
    device = python_types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
