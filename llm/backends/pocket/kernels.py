"""Compiled code that reads tokens: all layers of a Llama, for tokens of any rows at any positions, on one thread.

A row is a line of `tables`: the numbers of the blocks with its keys and values. Each sum has one order, which depends on the
position of its token alone. So a token's numbers are the same to the last bit whatever is read beside it, and in whatever pieces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from parley.llm.backends.pocket.vectors import (
    add,
    divide,
    each,
    exp,
    larger,
    largest,
    load,
    load_each,
    load_short,
    multiply,
    multiply_add,
    prefetch,
    store,
    subtract,
    total,
    up_to,
    zeros,
)

BLOCK = 16
"""Tokens of a block of keys and values."""
WIDTH = 32
"""Width of a head, and columns of a panel of weights."""
HALF = 16
AT_ONCE = 128
"""Tokens that go through a layer at once."""
AHEAD = 4
"""Blocks between the one in use and the one that the processor is asked to fetch."""
LARGEST = 32767.0
"""Keys and values are whole numbers up to this one, times a scale for each token and head."""


class Weights(NamedTuple):
    """The weights of a model, float32. Matrices lie in panels of 32 columns: (layers, panels, rows, 32)."""

    embedding: np.ndarray  # (tokens, width)
    norms: (
        np.ndarray
    )  # (2 * layers + 1, width): before attention and before the feed-forward part of each layer, and last
    project: np.ndarray  # queries, keys and values of all heads, side by side
    combine: np.ndarray  # what attention adds
    gate_up: np.ndarray
    down: np.ndarray
    logits: np.ndarray  # (1, panels, width, 32)
    cosine: np.ndarray  # (positions, 16)
    sine: np.ndarray
    heads: int
    key_heads: int
    epsilon: float


class Blocks(NamedTuple):
    """Keys and values of all rows. A block has the keys (32, 16 tokens) and values (16 tokens, 32) of each layer and head."""

    numbers: np.ndarray  # int16 (layers, key heads, 2, blocks, 512)
    scales: np.ndarray  # float32 (layers, key heads, 2, blocks, 16)


def compiled(function: Any) -> Any:
    """Compile a function, once on this machine. It does not hold Python's lock while it runs."""
    return njit(nogil=True, cache=True, error_model="numpy")(function)


@compiled
def _product(inputs, rows, width, matrices, layer, outputs, added):  # type: ignore[no-untyped-def]
    """Write (or add) the products of `rows` inputs of this width with the matrix of a layer."""
    panels = matrices.shape[1]
    across = panels * WIDTH
    for panel in range(panels):
        begin = (layer * panels + panel) * width * WIDTH
        row = 0
        while row < rows:
            place, out = row * width, row * across + panel * WIDTH
            if rows - row >= 4:
                a, b, c, d, e, f, g, h = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
                for k in range(width):
                    left, right = load(matrices, begin + k * WIDTH), load(matrices, begin + k * WIDTH + HALF)
                    one, two = load_each(inputs, place + k), load_each(inputs, place + width + k)
                    three, four = load_each(inputs, place + 2 * width + k), load_each(inputs, place + 3 * width + k)
                    a, b = multiply_add(one, left, a), multiply_add(one, right, b)
                    c, d = multiply_add(two, left, c), multiply_add(two, right, d)
                    e, f = multiply_add(three, left, e), multiply_add(three, right, f)
                    g, h = multiply_add(four, left, g), multiply_add(four, right, h)
                _write(outputs, out, a, b, added)
                _write(outputs, out + across, c, d, added)
                _write(outputs, out + 2 * across, e, f, added)
                _write(outputs, out + 3 * across, g, h, added)
                row += 4
            else:
                a, b = zeros(), zeros()
                for k in range(width):
                    one = load_each(inputs, place + k)
                    a = multiply_add(one, load(matrices, begin + k * WIDTH), a)
                    b = multiply_add(one, load(matrices, begin + k * WIDTH + HALF), b)
                _write(outputs, out, a, b, added)
                row += 1


@compiled
def _write(outputs, place, left, right, added):  # type: ignore[no-untyped-def]
    if added:
        left, right = add(load(outputs, place), left), add(load(outputs, place + HALF), right)
    store(outputs, place, left)
    store(outputs, place + HALF, right)


@compiled
def _normalise(inputs, rows, norms, number, epsilon, outputs):  # type: ignore[no-untyped-def]
    """Scale each row to a mean square of 1, and multiply it by a row of `norms`."""
    width = norms.shape[1]
    for row in range(rows):
        squares = zeros()
        for k in range(0, width, HALF):
            some = load(inputs, row * width + k)
            squares = multiply_add(some, some, squares)
        mean = total(squares) / np.float32(width) + np.float32(epsilon)
        factor = each(np.float32(1.0) / np.sqrt(mean))
        for k in range(0, width, HALF):
            scaled = multiply(load(inputs, row * width + k), factor)
            store(outputs, row * width + k, multiply(scaled, load(norms, number * width + k)))


@compiled
def _rotate(projected, count, across, weights, positions, start):  # type: ignore[no-untyped-def]
    """Rotate queries and keys by their positions, and scale queries by 1 / sqrt(32)."""
    for token in range(count):
        angle = positions[start + token] * HALF
        cosine, sine = load(weights.cosine, angle), load(weights.sine, angle)
        for head in range(weights.heads + weights.key_heads):
            scale = each(np.float32(1.0 / np.sqrt(WIDTH)) if head < weights.heads else np.float32(1.0))
            place = token * across + head * WIDTH
            left, right = load(projected, place), load(projected, place + HALF)
            turned = subtract(multiply(left, cosine), multiply(right, sine))
            store(projected, place, multiply(turned, scale))
            turned = add(multiply(right, cosine), multiply(left, sine))
            store(projected, place + HALF, multiply(turned, scale))


@compiled
def _keep(blocks, layer, projected, token, across, heads, key_heads, block, slot):  # type: ignore[no-untyped-def]
    """Write the keys and values of a token into its block, rounded."""
    for head in range(key_heads):
        for part in range(2):
            place = token * across + (heads + part * key_heads + head) * WIDTH
            most = np.float32(1e-30)
            for k in range(WIDTH):
                most = max(most, abs(projected[place + k]))
            factor = np.float32(LARGEST) / most
            blocks.scales[layer, head, part, block, slot] = most / np.float32(LARGEST)
            step, begin = (BLOCK, slot) if part == 0 else (1, slot * WIDTH)
            for k in range(WIDTH):
                whole = np.floor(projected[place + k] * factor + np.float32(0.5))
                blocks.numbers[layer, head, part, block, begin + k * step] = np.int16(whole)


@compiled
def _attend_four(blocks, layer, head, table, queries, places, lasts, seen, results, outs):  # type: ignore[no-untyped-def]
    """Write what four queries of one row find behind one head of keys. `lasts`: the last position that each may see."""
    key_heads, room = blocks.numbers.shape[1], blocks.numbers.shape[3]
    part = (layer * key_heads + head) * 2 * room
    q0, q1, q2, q3 = places
    l0, l1, l2, l3 = lasts
    count = max(l0, l1, l2, l3) // BLOCK + 1
    m0, m1, m2, m3 = each(np.float32(-1e30)), each(np.float32(-1e30)), each(np.float32(-1e30)), each(np.float32(-1e30))
    for b in range(count):
        begin = part + np.int64(table[b])
        keys = begin * WIDTH * BLOCK
        coming = (part + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
        a0, a1, a2, a3, c0, c1, c2, c3 = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
        for k in range(HALF):
            prefetch(blocks.numbers, coming + k * WIDTH)
            upper, lower = (
                load_short(blocks.numbers, keys + k * BLOCK),
                load_short(blocks.numbers, keys + (k + HALF) * BLOCK),
            )
            a0 = multiply_add(load_each(queries, q0 + k), upper, a0)
            a1 = multiply_add(load_each(queries, q1 + k), upper, a1)
            a2 = multiply_add(load_each(queries, q2 + k), upper, a2)
            a3 = multiply_add(load_each(queries, q3 + k), upper, a3)
            c0 = multiply_add(load_each(queries, q0 + k + HALF), lower, c0)
            c1 = multiply_add(load_each(queries, q1 + k + HALF), lower, c1)
            c2 = multiply_add(load_each(queries, q2 + k + HALF), lower, c2)
            c3 = multiply_add(load_each(queries, q3 + k + HALF), lower, c3)
        scale, at = load(blocks.scales, begin * BLOCK), b * 4 * BLOCK
        a0 = up_to(multiply(add(a0, c0), scale), l0 - b * BLOCK)
        a1 = up_to(multiply(add(a1, c1), scale), l1 - b * BLOCK)
        a2 = up_to(multiply(add(a2, c2), scale), l2 - b * BLOCK)
        a3 = up_to(multiply(add(a3, c3), scale), l3 - b * BLOCK)
        store(seen, at, a0)
        store(seen, at + BLOCK, a1)
        store(seen, at + 2 * BLOCK, a2)
        store(seen, at + 3 * BLOCK, a3)
        m0, m1, m2, m3 = larger(m0, a0), larger(m1, a1), larger(m2, a2), larger(m3, a3)
    m0, m1, m2, m3 = each(largest(m0)), each(largest(m1)), each(largest(m2)), each(largest(m3))
    s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
    a0, a1, a2, a3, c0, c1, c2, c3 = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
    for b in range(count):
        begin = part + room + np.int64(table[b])
        values = begin * WIDTH * BLOCK
        coming = (part + room + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
        scale, at = load(blocks.scales, begin * BLOCK), b * 4 * BLOCK
        e0, e1 = exp(subtract(load(seen, at), m0)), exp(subtract(load(seen, at + BLOCK), m1))
        e2, e3 = exp(subtract(load(seen, at + 2 * BLOCK), m2)), exp(subtract(load(seen, at + 3 * BLOCK), m3))
        s0, s1, s2, s3 = add(s0, e0), add(s1, e1), add(s2, e2), add(s3, e3)
        store(seen, at, multiply(e0, scale))
        store(seen, at + BLOCK, multiply(e1, scale))
        store(seen, at + 2 * BLOCK, multiply(e2, scale))
        store(seen, at + 3 * BLOCK, multiply(e3, scale))
        for t in range(BLOCK):
            prefetch(blocks.numbers, coming + t * WIDTH)
            left, right = (
                load_short(blocks.numbers, values + t * WIDTH),
                load_short(blocks.numbers, values + t * WIDTH + HALF),
            )
            e0, e1 = load_each(seen, at + t), load_each(seen, at + t + BLOCK)
            e2, e3 = load_each(seen, at + t + 2 * BLOCK), load_each(seen, at + t + 3 * BLOCK)
            a0, c0 = multiply_add(e0, left, a0), multiply_add(e0, right, c0)
            a1, c1 = multiply_add(e1, left, a1), multiply_add(e1, right, c1)
            a2, c2 = multiply_add(e2, left, a2), multiply_add(e2, right, c2)
            a3, c3 = multiply_add(e3, left, a3), multiply_add(e3, right, c3)
    _share(results, outs[0], a0, c0, s0)
    _share(results, outs[1], a1, c1, s1)
    _share(results, outs[2], a2, c2, s2)
    _share(results, outs[3], a3, c3, s3)


@compiled
def _attend_two(blocks, layer, head, table, queries, places, lasts, seen, results, outs):  # type: ignore[no-untyped-def]
    """Write what two queries find, with the sums of `_attend_four`."""
    key_heads, room = blocks.numbers.shape[1], blocks.numbers.shape[3]
    part = (layer * key_heads + head) * 2 * room
    q0, q1 = places
    l0, l1 = lasts
    count = max(l0, l1) // BLOCK + 1
    m0, m1 = each(np.float32(-1e30)), each(np.float32(-1e30))
    for b in range(count):
        begin = part + np.int64(table[b])
        keys = begin * WIDTH * BLOCK
        coming = (part + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
        a0, a1, c0, c1 = zeros(), zeros(), zeros(), zeros()
        for k in range(HALF):
            prefetch(blocks.numbers, coming + k * WIDTH)
            upper, lower = (
                load_short(blocks.numbers, keys + k * BLOCK),
                load_short(blocks.numbers, keys + (k + HALF) * BLOCK),
            )
            a0 = multiply_add(load_each(queries, q0 + k), upper, a0)
            a1 = multiply_add(load_each(queries, q1 + k), upper, a1)
            c0 = multiply_add(load_each(queries, q0 + k + HALF), lower, c0)
            c1 = multiply_add(load_each(queries, q1 + k + HALF), lower, c1)
        scale, at = load(blocks.scales, begin * BLOCK), b * 2 * BLOCK
        a0 = up_to(multiply(add(a0, c0), scale), l0 - b * BLOCK)
        a1 = up_to(multiply(add(a1, c1), scale), l1 - b * BLOCK)
        store(seen, at, a0)
        store(seen, at + BLOCK, a1)
        m0, m1 = larger(m0, a0), larger(m1, a1)
    m0, m1 = each(largest(m0)), each(largest(m1))
    s0, s1, a0, a1, c0, c1 = zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
    for b in range(count):
        begin = part + room + np.int64(table[b])
        values = begin * WIDTH * BLOCK
        coming = (part + room + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
        scale, at = load(blocks.scales, begin * BLOCK), b * 2 * BLOCK
        e0, e1 = exp(subtract(load(seen, at), m0)), exp(subtract(load(seen, at + BLOCK), m1))
        s0, s1 = add(s0, e0), add(s1, e1)
        store(seen, at, multiply(e0, scale))
        store(seen, at + BLOCK, multiply(e1, scale))
        for t in range(BLOCK):
            prefetch(blocks.numbers, coming + t * WIDTH)
            left, right = (
                load_short(blocks.numbers, values + t * WIDTH),
                load_short(blocks.numbers, values + t * WIDTH + HALF),
            )
            e0, e1 = load_each(seen, at + t), load_each(seen, at + t + BLOCK)
            a0, c0 = multiply_add(e0, left, a0), multiply_add(e0, right, c0)
            a1, c1 = multiply_add(e1, left, a1), multiply_add(e1, right, c1)
    _share(results, outs[0], a0, c0, s0)
    _share(results, outs[1], a1, c1, s1)


@compiled
def _share(results, place, left, right, parts):  # type: ignore[no-untyped-def]
    """Write a sum of values, divided by the sum of their shares."""
    whole = each(total(parts))
    store(results, place, divide(left, whole))
    store(results, place + HALF, divide(right, whole))


@compiled
def _attend(blocks, layer, table, queries, across, weights, positions, start, first, count, seen, results):  # type: ignore[no-untyped-def]
    """Write what some tokens of one row find, each up to its own position: at `first` and after it, of those from `start` on."""
    group, width = weights.heads // weights.key_heads, weights.heads * WIDTH
    last = count * group - 1
    for head in range(weights.key_heads):
        one = 0
        while one <= last:
            t0, h0 = first + one // group, head * group + one % group
            two = min(one + 1, last)
            t1, h1 = first + two // group, head * group + two % group
            q0, q1 = t0 * across + h0 * WIDTH, t1 * across + h1 * WIDTH
            o0, o1 = t0 * width + h0 * WIDTH, t1 * width + h1 * WIDTH
            l0, l1 = positions[start + t0], positions[start + t1]
            if last - one < 2:
                _attend_two(blocks, layer, head, table, queries, (q0, q1), (l0, l1), seen, results, (o0, o1))
                one += 2
                continue
            three, four = one + 2, min(one + 3, last)
            t2, h2 = first + three // group, head * group + three % group
            t3, h3 = first + four // group, head * group + four % group
            q2, q3 = t2 * across + h2 * WIDTH, t3 * across + h3 * WIDTH
            o2, o3 = t2 * width + h2 * WIDTH, t3 * width + h3 * WIDTH
            l2, l3 = positions[start + t2], positions[start + t3]
            places, lasts, outs = (q0, q1, q2, q3), (l0, l1, l2, l3), (o0, o1, o2, o3)
            _attend_four(blocks, layer, head, table, queries, places, lasts, seen, results, outs)
            one += 4


@compiled
def _activate(both, rows, width, outputs):  # type: ignore[no-untyped-def]
    """Write gate * sigmoid(gate) * up."""
    ones = each(np.float32(1.0))
    for row in range(rows):
        for k in range(0, width, HALF):
            gate, up = load(both, row * 2 * width + k), load(both, row * 2 * width + width + k)
            shut = add(ones, exp(subtract(zeros(), gate)))
            store(outputs, row * width + k, multiply(divide(gate, shut), up))


@compiled
def read_tokens(weights, blocks, tables, tokens, rows, positions, wanted, logits):  # type: ignore[no-untyped-def]
    """Read tokens of rows at their positions, and write the logits behind those for which `wanted` names a line of `logits`.

    A token of a row comes after those before it, unless they were read earlier. `wanted` is -1 for no logits.
    """
    width, layers = weights.embedding.shape[1], weights.project.shape[0]
    across, inner = weights.project.shape[1] * WIDTH, weights.down.shape[2]
    most = min(AT_ONCE, tokens.size)
    state, scaled = np.empty(most * width, np.float32), np.empty(most * width, np.float32)
    projected, found = np.empty(most * across, np.float32), np.empty(most * weights.heads * WIDTH, np.float32)
    both, active = np.empty(most * 2 * inner, np.float32), np.empty(most * inner, np.float32)
    seen = np.empty((np.max(positions) // BLOCK + 1) * BLOCK * 4, np.float32)
    scores = np.empty(most * logits.shape[1], np.float32)
    together = max(1, 4 * weights.key_heads // weights.heads)
    for start in range(0, tokens.size, AT_ONCE):
        count = min(AT_ONCE, tokens.size - start)
        for token in range(count):
            for k in range(width):
                state[token * width + k] = weights.embedding[tokens[start + token], k]
        for layer in range(layers):
            _normalise(state, count, weights.norms, 2 * layer, weights.epsilon, scaled)
            _product(scaled, count, width, weights.project, layer, projected, False)
            _rotate(projected, count, across, weights, positions, start)
            for token in range(count):
                position = positions[start + token]
                block, slot = tables[rows[start + token], position // BLOCK], position % BLOCK
                _keep(blocks, layer, projected, token, across, weights.heads, weights.key_heads, block, slot)
            first = 0
            while first < count:
                row, end = rows[start + first], first + 1
                while end < count and end - first < together and rows[start + end] == row:
                    end += 1
                _attend(
                    blocks,
                    layer,
                    tables[row],
                    projected,
                    across,
                    weights,
                    positions,
                    start,
                    first,
                    end - first,
                    seen,
                    found,
                )
                first = end
            _product(found, count, weights.heads * WIDTH, weights.combine, layer, state, True)
            _normalise(state, count, weights.norms, 2 * layer + 1, weights.epsilon, scaled)
            _product(scaled, count, width, weights.gate_up, layer, both, False)
            _activate(both, count, inner, active)
            _product(active, count, inner, weights.down, layer, state, True)
        some = 0
        for token in range(count):
            if wanted[start + token] >= 0:
                for k in range(width):
                    state[some * width + k] = state[token * width + k]
                some += 1
        _normalise(state, some, weights.norms, 2 * layers, weights.epsilon, scaled)
        _product(scaled, some, width, weights.logits, np.int64(0), scores, False)
        some = 0
        for token in range(count):
            if wanted[start + token] >= 0:
                for k in range(logits.shape[1]):
                    logits[wanted[start + token], k] = scores[some * logits.shape[1] + k]
                some += 1
