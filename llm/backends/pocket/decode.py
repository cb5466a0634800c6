"""Compiled code that writes replies: draws a token of each row, reads it, and goes on until all rows have finished.

A row draws with random numbers of its own, so that its reply does not depend on the rows around it.
"""

from __future__ import annotations

import numpy as np

from parley.llm.backends.pocket.kernels import read_tokens
from parley.llm.backends.pocket.layout import HALF, compiled
from parley.llm.backends.pocket.vectors import (
    any_below,
    at_least,
    each,
    exp,
    larger,
    largest,
    load,
    multiply,
    store,
    subtract,
    total,
    uniform,
)

COLDEST = 1e-6
"""The lowest temperature above 0."""
CLOSE, MOST = 1.0001, 1 - 2.0**-24
"""Room for rounding where times are compared, and the largest uniform number."""


@compiled
def _largest_of(scores):  # type: ignore[no-untyped-def]
    most = load(scores, 0)
    for place in range(HALF, scores.size, HALF):
        most = larger(most, load(scores, place))
    return largest(most)


@compiled
def log_totals(logits, vocabulary, totals):  # type: ignore[no-untyped-def]
    """Write, for each row of logits, the logarithm of the sum of e to the power of its logits."""
    for row in range(logits.shape[0]):
        scores = logits[row]
        scores[vocabulary:] = -1e30
        most, whole = _largest_of(scores), 0.0
        for place in range(0, scores.size, HALF):
            whole += total(exp(subtract(load(scores, place), each(most))))
        totals[row] = most + np.log(whole)


@compiled
def _drop_tail(chances, top_p):  # type: ignore[no-untyped-def]
    """Keep the most probable tokens until they reach top_p together, and always the first."""
    whole, before, kept = 0.0, 0.0, np.zeros_like(chances)
    for place in range(chances.size):
        whole += chances[place]
    while before < top_p * whole:
        token = np.argmax(chances)
        if chances[token] == 0:
            break
        kept[token] = chances[token]
        before += chances[token]
        chances[token] = 0
    if before == 0:
        kept[np.argmax(chances)] = 1
    chances[:] = kept


@compiled
def draw(scores, vocabulary, temperature, top_p, min_p, key, chances, numbers):  # type: ignore[no-untyped-def]
    """Return a token drawn from the logits of a row, at temperature 0 the most probable one.

    The token with the shortest waiting time wins (hf/token_race.py). A waiting time is at least its uniform number, so that most
    tokens are seen to lose before their time is computed.
    """
    scores[vocabulary:] = -1e30
    most = _largest_of(scores)
    if temperature <= 0:
        for token in range(vocabulary):
            if scores[token] == most:
                return token
    least = np.float32(min_p if top_p >= 1 else 0.0)
    factor, top = each(np.float32(1.0 / max(temperature, COLDEST))), each(most)
    for place in range(0, scores.size, HALF):
        chance = exp(multiply(subtract(load(scores, place), top), factor))
        store(chances, place, at_least(chance, least))
    if top_p < 1:
        _drop_tail(chances, top_p)
        for place in range(0, scores.size, HALF):
            store(chances, place, at_least(load(chances, place), np.float32(min_p)))
    best, winner = 1e30, 0
    for place in range(0, scores.size, HALF):
        random = uniform(np.int64(key), place)
        if any_below(random, multiply(each(np.float32(best * CLOSE)), load(chances, place))):
            store(numbers, 0, random)
            for token in range(HALF):
                chance = np.float64(chances[place + token])
                time = -np.log1p(-min(np.float64(numbers[token]), MOST))
                if chance > 0 and time < best * chance:
                    best, winner = time / chance, place + token
    return winner


@compiled
def write_replies(  # type: ignore[no-untyped-def]
    weights,
    blocks,
    tables,
    positions,
    logits,
    reply_tokens,
    counts,
    limits,
    done,
    temperatures,
    top_ps,
    keys,
    barred,
    min_ps,
    ends,
    steps,
):
    """Go on with the replies of all rows that are not `done`, for at most `steps` tokens each.

    Parameters
    ----------
    positions : array of int32 (rows,)
        Tokens read of each row.
    logits : array of float32 (rows, tokens)
        What follows the tokens read.
    reply_tokens, counts, limits : arrays of int32
        The tokens of each reply (rows, most), how many there are, and how many there may be.
    barred : array of int32 (rows, tokens)
        The tokens that a row may not say; -1: none.
    keys : array of uint32 (rows, most)
        A random number for each token of each reply.
    min_ps : array of float64 (rows,)
        The least share of the likeliest token's probability that a token needs to be said.
    ends : array of int32
        The tokens that end a reply.
    """
    rows, vocabulary = len(counts), weights.embedding.shape[0]
    chances, numbers = np.empty(logits.shape[1], np.float32), np.empty(HALF, np.float32)
    tokens, active = np.empty(rows, np.int32), np.empty(rows, np.int32)
    places = np.empty(rows, np.int32)
    for _ in range(steps):
        count = 0
        for row in range(rows):
            if done[row]:
                continue
            for token in barred[row]:
                if token >= 0:
                    logits[row, token] = -1e30
            key = keys[row, counts[row]]
            token = draw(logits[row], vocabulary, temperatures[row], top_ps[row], min_ps[row], key, chances, numbers)
            reply_tokens[row, counts[row]] = token
            counts[row] += 1
            done[row] = counts[row] >= limits[row]
            for end in ends:
                done[row] |= token == end
            if not done[row]:
                tokens[count], active[count], places[count] = token, row, positions[row]
                positions[row] += 1
                count += 1
        if count == 0:
            return
        read_tokens(weights, blocks, tables, tokens[:count], active[:count], places[:count], active[:count], logits)
