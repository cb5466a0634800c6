"""Compiled code that reads tokens: all layers of a Llama, for tokens of any rows at any positions, on one thread.

A row is a line of `tables`: the numbers of the blocks with its keys and values. Each sum has one order, which depends on the
position of its token alone. So a token's numbers are the same to the last bit whatever is read with it, and in whatever pieces.
"""

from __future__ import annotations

import numpy as np

from parley.llm.backends.pocket.attention import attend, keep
from parley.llm.backends.pocket.layout import AT_ONCE, BLOCK, HALF, WIDTH, compiled
from parley.llm.backends.pocket.vectors import (
    add,
    divide,
    each,
    exp,
    load,
    load_each,
    multiply,
    multiply_add,
    store,
    subtract,
    total,
    zeros,
)


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
            if rows - row >= 4:  # four rows share each load of the matrix; the sum of a row is that of the row alone
                a, b, c, d, e, f, g, h = zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
                for k in range(width):
                    left, right = load(matrices, begin + k * WIDTH), load(matrices, begin + k * WIDTH + HALF)
                    first_input, two = load_each(inputs, place + k), load_each(inputs, place + width + k)
                    three, four = load_each(inputs, place + 2 * width + k), load_each(inputs, place + 3 * width + k)
                    a, b = multiply_add(first_input, left, a), multiply_add(first_input, right, b)
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
                    first_input = load_each(inputs, place + k)
                    a = multiply_add(first_input, load(matrices, begin + k * WIDTH), a)
                    b = multiply_add(first_input, load(matrices, begin + k * WIDTH + HALF), b)
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
    projected, attended = np.empty(most * across, np.float32), np.empty(most * weights.heads * WIDTH, np.float32)
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
                keep(blocks, layer, projected, token, across, weights.heads, weights.key_heads, block, slot)
            first = 0
            while first < count:
                row, end = rows[start + first], first + 1
                while end < count and end - first < together and rows[start + end] == row:
                    end += 1
                attend(
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
                    attended,
                )
                first = end
            _product(attended, count, weights.heads * WIDTH, weights.combine, layer, state, True)
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
