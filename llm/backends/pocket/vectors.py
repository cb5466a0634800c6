"""Vectors of 16 floats for compiled code: the processor's own, or several of them where its vectors are shorter.

Numba alone cannot say that a sum stays in a register. These functions can be called from compiled code only. `load` and its
like take the place of a number counted from the beginning of an array, whatever the array's shape.

Each operation has one fixed order of sums. A result therefore depends on its numbers alone, and not on the loop around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from parley.llm.backends.hf.token_race import FIRST, SECOND, STEP

LANES = 16
"""Numbers of a vector."""
FLOAT, INT = ir.FloatType(), ir.IntType(32)
FLOATS, INTS, SHORTS = (ir.VectorType(kind, LANES) for kind in (FLOAT, INT, ir.IntType(16)))
SHORT_ZERO = ir.Constant(ir.IntType(LANES), 0)


class Vector(types.Type):
    """The type of a vector in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="Vector16")


VECTOR = Vector()


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """A vector is a value of the compiler."""

    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, FLOATS)


def _constant(value: float) -> ir.Constant:
    return ir.Constant(FLOATS, [value] * LANES)


def _whole(value: int) -> ir.Constant:
    return ir.Constant(INTS, [value] * LANES)


def _splat(builder: Any, value: Any) -> Any:
    """Return the value in each lane."""
    kind = ir.VectorType(value.type, LANES)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, INT(0))
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), ir.Constant(INTS, [0] * LANES))


def _pointer(context: Any, builder: Any, array: Any, given: Any, kind: Any) -> Any:
    """Return the address of a place of an array, both given."""
    value, place = given
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _call(builder: Any, name: str, arguments: list[Any], kind: Any = FLOATS) -> Any:
    short = {FLOATS: "v16f32", INTS: "v16i32"}[arguments[0].type]
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [argument.type for argument in arguments]), f"llvm.{name}.{short}"
    )
    return builder.call(function, arguments)


def _operation(emit: Callable[[Any, list[Any]], Any], *kinds: Any, result: Any = VECTOR) -> Any:
    """Return a function for compiled code, whose arguments have these types."""

    def generate(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
        return emit(builder, arguments)

    def of_none(context: Any) -> Any:
        return result(*kinds), generate

    def of_one(context: Any, first: Any) -> Any:
        return result(*kinds), generate

    def of_two(context: Any, first: Any, second: Any) -> Any:
        return result(*kinds), generate

    def of_three(context: Any, first: Any, second: Any, third: Any) -> Any:
        return result(*kinds), generate

    return intrinsic((of_none, of_one, of_two, of_three)[len(kinds)])  # numba wants to see each argument


@intrinsic
def load(context: Any, array: Any, place: Any) -> Any:
    """Return 16 numbers of a float32 array, from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments, FLOATS)
        return builder.load(pointer, align=4)

    return VECTOR(array, types.intp), generate


@intrinsic
def load_short(context: Any, array: Any, place: Any) -> Any:
    """Return 16 numbers of an int16 array, from a place on, as floats."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shorts = builder.load(_pointer(context, builder, array, arguments, SHORTS), align=2)
        return builder.sitofp(builder.sext(shorts, INTS), FLOATS)

    return VECTOR(array, types.intp), generate


@intrinsic
def load_each(context: Any, array: Any, place: Any) -> Any:
    """Return the float32 number at a place, in all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, builder.load(_pointer(context, builder, array, arguments, FLOAT), align=4))

    return VECTOR(array, types.intp), generate


@intrinsic
def store(context: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write a vector into a float32 array, from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, array, arguments[:2], FLOATS), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, VECTOR), generate


@intrinsic
def prefetch(context: Any, array: Any, place: Any) -> Any:
    """Ask for the cache line at a place, which will be read soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments, ir.IntType(8))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, INT, INT, INT]), "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, INT(0), INT(3), INT(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _exp(builder: Any, arguments: list[Any]) -> Any:
    """Return e to the power of each number: 0 below -87, and above 88 that of 88. Source: expf of Cephes.

    The relative error is at most 8e-8.
    """
    (number,) = arguments
    tiny = builder.fcmp_ordered("<", number, _constant(-87.0))
    huge = builder.fcmp_ordered(">", number, _constant(88.0))
    safe = builder.select(huge, _constant(88.0), builder.select(tiny, _constant(-87.0), number))
    power = _call(builder, "rint", [builder.fmul(safe, _constant(1.44269504088896341))])
    rest = _call(builder, "fmuladd", [power, _constant(-0.693359375), safe])
    rest = _call(builder, "fmuladd", [power, _constant(2.12194440e-4), rest])
    result = _constant(1.9875691500e-4)
    for term in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1.0, 1.0):
        result = _call(builder, "fmuladd", [result, rest, _constant(term)])
    exponent = builder.add(builder.fptosi(power, INTS), _whole(127))
    scale = builder.bitcast(builder.shl(exponent, _whole(23)), FLOATS)
    return builder.select(tiny, _constant(0.0), builder.fmul(result, scale))


def _up_to(builder: Any, arguments: list[Any]) -> Any:
    vector, last = arguments
    numbers = ir.Constant(INTS, list(range(LANES)))
    seen = builder.icmp_signed("<=", numbers, _splat(builder, builder.trunc(last, INT)))
    return builder.select(seen, vector, _constant(-1e30))


def _at_least(builder: Any, arguments: list[Any]) -> Any:
    vector, least = arguments
    return builder.select(builder.fcmp_ordered(">=", vector, _splat(builder, least)), vector, _constant(0.0))


def _larger(builder: Any, arguments: list[Any]) -> Any:
    return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)


def _mixed(builder: Any, arguments: list[Any]) -> Any:
    """Return a random number in [0, 1] for a key and each of 16 tokens, the first one given (hf/token_race.py)."""
    key, first = (builder.trunc(given, INT) for given in arguments)
    numbers = builder.add(_splat(builder, first), ir.Constant(INTS, list(range(LANES))))
    mixed = builder.add(_splat(builder, key), builder.mul(numbers, _whole(STEP)))
    mixed = builder.mul(builder.xor(mixed, builder.lshr(mixed, _whole(16))), _whole(FIRST))
    mixed = builder.mul(builder.xor(mixed, builder.lshr(mixed, _whole(15))), _whole(SECOND))
    mixed = builder.xor(mixed, builder.lshr(mixed, _whole(16)))
    return builder.fmul(builder.uitofp(mixed, FLOATS), _constant(2.0**-32))


def _any_below(builder: Any, arguments: list[Any]) -> Any:
    return builder.icmp_unsigned(
        "!=", builder.bitcast(builder.fcmp_ordered("<", *arguments), ir.IntType(LANES)), SHORT_ZERO
    )


def _total(builder: Any, arguments: list[Any]) -> Any:
    """Return the sum of the lanes: halves are added, then their halves, and so on."""
    return _folded(builder, arguments[0], builder.fadd)


def _largest(builder: Any, arguments: list[Any]) -> Any:
    return _folded(
        builder,
        arguments[0],
        lambda left, right: builder.select(builder.fcmp_ordered(">", left, right), left, right),
    )


def _folded(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    count = LANES
    while count > 1:
        count //= 2
        left, right = (
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(INT, count), list(range(start, start + count)))
            )
            for start in (0, count)
        )
        vector = combine(left, right)
    return builder.extract_element(vector, INT(0))


zeros = _operation(lambda _, __: _constant(0.0))
each = _operation(lambda builder, given: _splat(builder, given[0]), types.float32)
add = _operation(lambda builder, given: builder.fadd(*given), VECTOR, VECTOR)
subtract = _operation(lambda builder, given: builder.fsub(*given), VECTOR, VECTOR)
multiply = _operation(lambda builder, given: builder.fmul(*given), VECTOR, VECTOR)
divide = _operation(lambda builder, given: builder.fdiv(*given), VECTOR, VECTOR)
multiply_add = _operation(lambda builder, given: _call(builder, "fmuladd", given), VECTOR, VECTOR, VECTOR)
exp = _operation(_exp, VECTOR)
up_to = _operation(_up_to, VECTOR, types.intp)
at_least = _operation(_at_least, VECTOR, types.float32)
any_below = _operation(_any_below, VECTOR, VECTOR, result=types.boolean)
uniform = _operation(_mixed, types.int64, types.int64)
larger = _operation(_larger, VECTOR, VECTOR)
total = _operation(_total, VECTOR, result=types.float32)
largest = _operation(_largest, VECTOR, result=types.float32)
