"""Reads the distribution over the allowed answers from the likeliest tokens of a reply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SHARED = 0.02
"""The largest part of the probability of answers that may lie on tokens with which several of them begin."""
AROUND = " \t\n\"'`*_([“‘"


class TokenPosition(NamedTuple):
    """One position of a reply: its token, and the likeliest tokens there with their probabilities."""

    token: str
    likely: Mapping[str, float]

    @property
    def is_distribution(self) -> bool:
        return 0 < sum(self.likely.values()) < 1.02


def choice_probabilities(logprobs: Any, answers: Sequence[str], prefix: str = "") -> list[float] | None:
    """Return a share for each allowed answer (not scaled), or None where the likeliest tokens do not determine them.

    They do not when they are missing, when they are no probabilities, when none of them begins an answer, or when more than 2% of
    theirs lies on a beginning that several answers share ("1" of 1 and 10, where a tokenizer has no token for 10 and the reply
    does not go on with it). prefix: how the reply begins before the answer.
    """
    places = positions(logprobs)
    start = _answer_start(places, prefix)
    if start is None or not places[start].is_distribution:
        return None
    shares, shared = _sum_probabilities(places[start:], [answer.lower() for answer in answers])
    return shares if sum(shares) and shared <= SHARED * (sum(shares) + shared) else None


def next_tokens(logprobs: Any) -> Mapping[str, float]:
    """Return the likeliest first tokens of a reply with their probabilities; none where they cannot be read."""
    places = positions(logprobs)
    return places[0].likely if places and places[0].is_distribution else {}


def has_logprobs(logprobs: Any) -> bool:
    """Are these the likeliest tokens of a reply: probabilities, several per position, and the token of the reply too?"""
    places = positions(logprobs)
    several = all(len(place.likely) > 1 and place.is_distribution for place in places)
    return bool(places) and several and places[0].token in places[0].likely


def positions(logprobs: Any) -> list[TokenPosition]:
    """Return the positions of a reply; none where they cannot be read.

    Some servers (llama.cpp) answer completions in the form of a chat, so its fields show the form, not the address.
    """
    try:
        if "content" in logprobs:
            return [
                TokenPosition(str(at["token"]), _shares((one["token"], one["logprob"]) for one in at["top_logprobs"]))
                for at in logprobs["content"]
            ]
        pairs = zip(logprobs["tokens"], logprobs["top_logprobs"], strict=True)
        return [TokenPosition(str(token), _shares(likely.items())) for token, likely in pairs]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _shares(logprobs: Iterable[tuple[Any, Any]]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for token, logprob in logprobs:
        share = math.exp(float(logprob))
        if not 0 <= share <= 1.001:
            raise ValueError("no probability")
        shares[str(token)] = shares.get(str(token), 0.0) + share
    return shares


def _sum_probabilities(positions: Sequence[TokenPosition], answers: Sequence[str]) -> tuple[list[float], float]:
    """Return a share for each answer, and what lies on beginnings that several answers share."""
    shares, shared, first = [0.0] * len(answers), 0.0, positions[0]
    known = {_bare(token) for token in first.likely}
    for token, share in first.likely.items():
        begun = _bare(token)
        if len(begun) == 1 and begun not in answers:  # "I" begins "in favour", and most sentences
            continue
        fits = [place for place, answer in enumerate(answers) if begun and answer.startswith(begun)]
        longer = [place for place in fits if answers[place] != begun and answers[place] not in known]
        if len(fits) == 1 or (begun in answers and not longer):
            shares[fits[0] if len(fits) == 1 else answers.index(begun)] += share
        elif fits and begun in answers and _bare(first.token) == begun and len(longer) == 1 and len(positions) > 1:
            continued = _continued(positions[1], answers[longer[0]][len(begun) :])
            shares[answers.index(begun)] += share * (1 - continued)
            shares[longer[0]] += share * continued
        elif fits:
            shared += share
    return shares, shared


def _continued(position: TokenPosition, rest: str) -> float:
    """Return the probability that the answer continues with `rest`: "0" behind "1"."""
    likely = position.likely.items()
    return sum(share for token, share in likely if token and rest.startswith(token.rstrip().lower() or "?"))


def _answer_start(positions: Sequence[TokenPosition], prefix: str) -> int | None:
    """Return where the answer begins: behind the prefix, else at the first token that is more than punctuation."""
    text, prefix = "", " ".join(prefix.lower().split())
    for number, position in enumerate(positions):
        if prefix and " ".join(text.lower().split()).endswith(prefix) and _bare(position.token):
            return number
        text += position.token
    return next((number for number, position in enumerate(positions) if _bare(position.token)), None)


def _bare(token: str) -> str:
    return token.strip(AROUND).lower()
