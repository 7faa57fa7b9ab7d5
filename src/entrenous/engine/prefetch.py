"""A hint to the processor that a row of a table will be read soon.

A step waits for the parameter of the step before it, and on rows in random order also for memory. The rows of later
steps are known, so they can be on their way in the meantime. numba has no word for that; LLVM has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_LINE = 64
"""Bytes of a cache line."""


# An intrinsic, so that no call stands in the loop: as a compiled function of its own it made steps slower, not faster.
@intrinsic
def hint_row(typing_context: Any, table: Any, row: Any) -> Any:
    """Asks for every cache line of a row of a C-contiguous float64 table. Changes nothing but the time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number, long = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        shape = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], shape)
        bytes_per_row = builder.mul(builder.extract_value(array.shape, 1), long(8))
        start = builder.mul(arguments[1], bytes_per_row)
        with cgutils.for_range_slice(builder, long(0), bytes_per_row, long(_LINE), intp=long) as (offset, _):
            at = builder.gep(builder.bitcast(array.data, byte.as_pointer()), [builder.add(start, offset)])
            builder.call(hint, [at, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.intp), generate
