"""Arrays from an address, or from memory: what Numba compiles for the CPU and for a GPU alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def make_intrinsics(
    intrinsic: Callable[..., Any],
    types: Any,
    cgutils: Any,
    populate_array: Any,
    shared_memory: Callable[..., Any],
) -> dict[str, Any]:
    """Make the intrinsics from what Numba, or its part for GPUs, makes them of.

    `shared_memory(builder, element, count, at)` builds the address of this thread's first element
    of an array that begins `at` bytes into each thread's part, and returns it with the number of
    threads that share.
    """

    def array_value(
        context: Any, builder: Any, made: Any, data: Any, shape: Any, stride: Any = None
    ) -> Any:
        """Build an array of a type in C order.

        `stride` is the number of bytes between neighbouring elements, by default the size of one.
        """
        size = context.get_abi_sizeof(context.get_data_type(made.dtype))
        width = context.get_constant(types.intp, size)
        strides = [width if stride is None else stride]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        array = context.make_array(made)(context, builder)
        populate_array(array, data, shape, strides, width, None)
        return array._getvalue()

    def lengths(context: Any, builder: Any, shape: Any, value: Any) -> list[Any]:
        given = [builder.extract_value(value, axis) for axis in range(len(shape))]
        return [
            context.cast(builder, length, kind, types.intp)
            for length, kind in zip(given, shape, strict=True)
        ]

    @intrinsic
    def array_at(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
        """Return the array of a shape and type at an address."""
        made = types.Array(dtype.dtype, len(shape), "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = context.get_data_type(made.dtype).as_pointer()
            data = builder.inttoptr(arguments[0], pointer)
            own = lengths(context, builder, shape, arguments[1])
            return array_value(context, builder, made, data, own)

        return made(address, shape, dtype), generate

    @intrinsic
    def shaped(typing_context: Any, memory: Any, shape: Any) -> Any:
        """Return the first numbers of an array of one axis as an array of a shape."""
        made = types.Array(memory.dtype, len(shape), memory.layout)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(memory)(context, builder, arguments[0])
            own = lengths(context, builder, shape, arguments[1])
            stride = None if memory.layout == "C" else builder.extract_value(array.strides, 0)
            return array_value(context, builder, made, array.data, own, stride)

        return made(memory, shape), generate

    @intrinsic
    def local_array(typing_context: Any, capacity: Any, dtype: Any) -> Any:
        """Return an array of one axis on the stack; its capacity is a constant."""
        if not isinstance(capacity, types.IntegerLiteral):
            return None  # Numba asks again, with the constant
        made, count = types.Array(dtype.dtype, 1, "C"), capacity.literal_value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = cgutils.alloca_once(builder, context.get_data_type(made.dtype), size=count)
            own = [context.get_constant(types.intp, count)]
            return array_value(context, builder, made, data, own)

        return made(capacity, dtype), generate

    @intrinsic
    def shared_array(typing_context: Any, capacity: Any, dtype: Any, at: Any) -> Any:
        """Return this thread's part of an array in shared memory; its capacity is a constant.

        Neighbouring threads have neighbouring elements, which can be read at the same time.
        """
        if not all(isinstance(each, types.IntegerLiteral) for each in (capacity, at)):
            return None  # Numba asks again, with the constants
        made, count = types.Array(dtype.dtype, 1, "A"), capacity.literal_value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def constant(number: int) -> Any:
                return context.get_constant(types.intp, number)

            element = context.get_data_type(made.dtype)
            data, threads = shared_memory(builder, element, count, at.literal_value)
            stride = constant(threads * context.get_abi_sizeof(element))
            return array_value(context, builder, made, data, [constant(count)], stride)

        return made(capacity, dtype, at), generate

    return {
        "array_at": array_at,
        "shaped": shaped,
        "local_array": local_array,
        "shared_array": shared_array,
    }
