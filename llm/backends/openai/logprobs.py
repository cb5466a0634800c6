"""The distribution over allowed answers, from the likeliest tokens at the place where the answer begins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from parley.llm.choices import COVERED
from parley.llm.request import Request

UNTOLD = 0.02
"""The most that may lie on tokens with which several answers begin."""
AROUND = " \t\n\"'`*_([“‘"


class TokenPosition(NamedTuple):
    """One place of a reply: the token that stands there, and what might have stood there, with probabilities."""

    token: str
    likely: Mapping[str, float]


def choice_probabilities(told: Any, request: Request, chat: bool) -> list[float] | None:
    """A share for each allowed answer (not scaled), or None where the likeliest tokens do not tell.

    They do not when there are none, when they are no probabilities, when the answers have less than half of them together, or
    when more than .02 lies on a beginning that several answers share ("1" of 1 and 10, where a tokenizer has no token for 10).
    """
    places = _places(told, chat)
    start = _start(places, "" if not chat else request.answer_prefix)
    if start is None or not 0 < sum(places[start].likely.values()) < 1.02:
        return None
    found, untold = _count(places, start, [answer.lower() for answer in request.answers])
    return found if sum(found) >= COVERED and untold <= UNTOLD else None


def has_logprobs(told: Any, chat: bool) -> bool:
    """Are these the likeliest tokens of a reply, whatever it says: probabilities, several at a place, and what was said?"""
    places = _places(told, chat)
    whole = [place for place in places if len(place.likely) > 1 and sum(place.likely.values()) < 1.02]
    return bool(places) and len(whole) == len(places) and places[0].token in places[0].likely


def _places(told: Any, chat: bool) -> list[TokenPosition]:
    """None at all where they cannot be read."""
    try:
        return _chat(told) if chat else _legacy(told)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _count(places: Sequence[TokenPosition], start: int, answers: Sequence[str]) -> tuple[list[float], float]:
    """A share for each answer, and what lies on beginnings that several share."""
    found, untold, here = [0.0] * len(answers), 0.0, places[start]
    known = {_bare(token) for token in here.likely}
    for token, share in here.likely.items():
        begun = _bare(token)
        fits = [place for place, answer in enumerate(answers) if begun and answer.startswith(begun)]
        longer = [place for place in fits if answers[place] != begun and answers[place] not in known]
        if len(begun) == 1 and begun not in answers:  # "I" begins "in favour", and most sentences
            continue
        if len(fits) == 1 or (begun in answers and not longer):
            found[fits[0] if len(fits) == 1 else answers.index(begun)] += share
        elif fits and begun in answers and _bare(here.token) == begun and len(longer) == 1 and start + 1 < len(places):
            more = _continued(places[start + 1], answers[longer[0]][len(begun) :])
            found[answers.index(begun)] += share * (1 - more)
            found[longer[0]] += share * more
        elif fits:
            untold += share
    return found, untold


def _continued(place: TokenPosition, rest: str) -> float:
    """How probable it is that the answer goes on: "0" behind "1"."""
    return sum(
        share for token, share in place.likely.items() if token and rest.startswith(token.rstrip().lower() or "?")
    )


def _start(places: Sequence[TokenPosition], prefix: str) -> int | None:
    """Where the answer begins: behind the prefix, if the reply has it, else at the first token that is more than punctuation."""
    said, wanted = "", " ".join(prefix.lower().split())
    for number, place in enumerate(places):
        if wanted and " ".join(said.lower().split()).endswith(wanted) and _bare(place.token):
            return number
        said += place.token
    return next((number for number, place in enumerate(places) if _bare(place.token)), None)


def _bare(token: str) -> str:
    return token.strip(AROUND).lower()


def _chat(told: Any) -> list[TokenPosition]:
    return [
        TokenPosition(str(at["token"]), _shares((one["token"], one["logprob"]) for one in at["top_logprobs"]))
        for at in told["content"]
    ]


def _legacy(told: Any) -> list[TokenPosition]:
    return [
        TokenPosition(str(token), _shares(likely.items()))
        for token, likely in zip(told["tokens"], told["top_logprobs"], strict=True)
    ]


def _shares(logs: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for token, log in logs:
        share = math.exp(float(log))
        if not 0 <= share <= 1.001:
            raise ValueError("no probability")
        found[str(token)] = found.get(str(token), 0.0) + share
    return found
