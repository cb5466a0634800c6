"""Compiled code for attention: writes keys and values into blocks, and what queries find there."""

from __future__ import annotations

import numpy as np

from parley.llm.backends.pocket.layout import AHEAD, BLOCK, HALF, LARGEST, WIDTH, compiled
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


@compiled
def keep(blocks, layer, projected, token, across, heads, key_heads, block, slot):  # type: ignore[no-untyped-def]
    """Write the keys and values of a token into its block, rounded."""
    for head in range(key_heads):
        for key_or_value in range(2):
            place = token * across + (heads + key_or_value * key_heads + head) * WIDTH
            most = np.float32(1e-30)  # and not 0, by which zeros would be divided
            for k in range(WIDTH):
                most = max(most, abs(projected[place + k]))
            factor = np.float32(LARGEST) / most
            blocks.scales[layer, head, key_or_value, block, slot] = most / np.float32(LARGEST)
            # Keys lie by dimension: one load then has a dimension of all 16 keys of a block. Values lie by token.
            step, begin = (BLOCK, slot) if key_or_value == 0 else (1, slot * WIDTH)
            for k in range(WIDTH):
                whole = np.floor(projected[place + k] * factor + np.float32(0.5))
                blocks.numbers[layer, head, key_or_value, block, begin + k * step] = np.int16(whole)


@compiled
def _attend_four(blocks, layer, head, table, queries, places, lasts, seen, results, outs):  # type: ignore[no-untyped-def]
    """Write what four queries of one row find behind one head of keys. `lasts`: the last position that each may see."""
    key_heads, room = blocks.numbers.shape[1], blocks.numbers.shape[3]
    base = (layer * key_heads + head) * 2 * room
    q0, q1, q2, q3 = places
    l0, l1, l2, l3 = lasts
    count = max(l0, l1, l2, l3) // BLOCK + 1
    m0, m1, m2, m3 = each(np.float32(-1e30)), each(np.float32(-1e30)), each(np.float32(-1e30)), each(np.float32(-1e30))
    for b in range(count):
        begin = base + np.int64(table[b])
        keys = begin * WIDTH * BLOCK
        coming = (base + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
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
        begin = base + room + np.int64(table[b])
        values = begin * WIDTH * BLOCK
        coming = (base + room + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
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
    base = (layer * key_heads + head) * 2 * room
    q0, q1 = places
    l0, l1 = lasts
    count = max(l0, l1) // BLOCK + 1
    m0, m1 = each(np.float32(-1e30)), each(np.float32(-1e30))
    for b in range(count):
        begin = base + np.int64(table[b])
        keys = begin * WIDTH * BLOCK
        coming = (base + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
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
        begin = base + room + np.int64(table[b])
        values = begin * WIDTH * BLOCK
        coming = (base + room + np.int64(table[min(b + AHEAD, count - 1)])) * WIDTH * BLOCK
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
def attend(blocks, layer, table, queries, across, weights, positions, start, first, count, seen, results):  # type: ignore[no-untyped-def]
    """Write what some tokens of one row find, each up to its own position: at `first` and after it, of those from `start` on."""
    group, width = weights.heads // weights.key_heads, weights.heads * WIDTH
    last = count * group - 1
    for head in range(weights.key_heads):
        query = 0
        while query <= last:
            t0, h0 = first + query // group, head * group + query % group
            two = min(query + 1, last)
            t1, h1 = first + two // group, head * group + two % group
            q0, q1 = t0 * across + h0 * WIDTH, t1 * across + h1 * WIDTH
            o0, o1 = t0 * width + h0 * WIDTH, t1 * width + h1 * WIDTH
            l0, l1 = positions[start + t0], positions[start + t1]
            if last - query < 2:
                _attend_two(blocks, layer, head, table, queries, (q0, q1), (l0, l1), seen, results, (o0, o1))
                query += 2
                continue
            three, four = query + 2, min(query + 3, last)
            t2, h2 = first + three // group, head * group + three % group
            t3, h3 = first + four // group, head * group + four % group
            q2, q3 = t2 * across + h2 * WIDTH, t3 * across + h3 * WIDTH
            o2, o3 = t2 * width + h2 * WIDTH, t3 * width + h3 * WIDTH
            l2, l3 = positions[start + t2], positions[start + t3]
            places, lasts, outs = (q0, q1, q2, q3), (l0, l1, l2, l3), (o0, o1, o2, o3)
            _attend_four(blocks, layer, head, table, queries, places, lasts, seen, results, outs)
            query += 4
