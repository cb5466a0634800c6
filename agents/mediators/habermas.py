"""habermas: many candidate statements, a predicted ranking of them for each member, and Schulze's choice.

The mechanism of the Habermas Machine (Tessler, Bakker et al. 2024, Science), after its public code. Each candidate is
written from opinions and critiques in an order of its own. For every member the model predicts how that member would
rank them, shown in an order drawn for the member. Schulze's method makes one order of the rankings
(`social_choice.schulze`); ties at any place are broken by ballots drawn by lot (`social_choice.break_ties`), and the
first is the statement. The revision is made likewise, from the last statement and the critiques of it.

Options
    candidates   statements that are written (16); 26 at most, one letter each
    words        length of a statement that is asked for (100)
    rule         schulze, or borda: what makes one order of the rankings (schulze). The rules of `social_choice` that go
                 by scores
                 (approval, utilitarian, maximin) need ratings of candidates, which are not asked for here

Departures: one model, prompted, writes and ranks (there: a fine-tuned writer and a reward model; the public code
prompts both). The reply is the statement, without the reasoning that the public prompts ask for first. A ballot may
hold ties. Rankings are asked for at temperature 0. One that cannot be read is asked for again in other words, at the
temperature of statements (1 where that is 0): the same greedy question would have the same answer. What cannot be read
in ATTEMPTS replies is missing with its reason: the member has no ballot, and the others decide. Where nobody has one,
the statement is missing; nothing is chosen by lot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parley.agents.mediators.base import (
    ATTEMPTS,
    Candidate,
    Mediator,
    MediatorBrief,
    Ranking,
    Seed,
    Statement,
    load_instruction,
    request_texts,
)
from parley.agents.mediators.draft_revise import TOKENS_PER_WORD
from parley.agents.social_choice import LETTERS, Contest, Order, Places, Tally, borda, break_ties, read_ranking, schulze
from parley.agents.topic import PROMPTS
from parley.llm.driver import Conversation, ask_all
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request

RANKING_TOKENS = 150
RULES: dict[str, Callable[..., Contest | Tally]] = {"schulze": schulze, "borda": borda}


@dataclass(frozen=True)
class Habermas(Mediator):
    """See the module's manual page."""

    candidates: int = 16
    words: int = 100
    rule: str = "schulze"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, not {self.rule}")
        if not 1 <= self.candidates <= len(LETTERS) or self.words < 1:
            raise ValueError(f"candidates must be 1 to {len(LETTERS)}, words at least 1")

    def calls(self, members: int) -> int:
        return self.candidates + (members if self.candidates > 1 else 0)

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        if not any(heard.opinion for heard in brief.members):
            return Statement(None, "no_opinions")
        candidates = yield from request_texts(
            lambda number, attempt: self._request(brief, seed, number, attempt), self.candidates
        )
        usable = [number for number, one in enumerate(candidates) if one.text is not None]
        if not usable:
            return Statement(None, "no_candidate", None, candidates)
        if len(usable) == 1:
            return _chosen(candidates, (), (tuple(usable),), tuple(usable))
        rankings = yield from _ranked(brief, seed, candidates, usable)
        ballots = [_renamed(one.order, usable.index) for one in rankings if one.order is not None]
        if not ballots:
            return Statement(None, "no_ranking", None, candidates, rankings)
        order = RULES[self.rule](ballots, len(usable)).order
        strict = break_ties(order, ballots, random.Random(seed("ties")))
        return _chosen(candidates, rankings, order, tuple(usable[place] for place in strict))

    def _request(self, brief: MediatorBrief, seed: Seed, number: int, attempt: int) -> Request:
        text, facts = load_instruction(brief, self.words, random.Random(seed("order", number)))
        return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", number, attempt), "statement", facts)


def _chosen(
    candidates: tuple[Candidate, ...], rankings: tuple[Ranking, ...], order: Order, strict: tuple[int, ...]
) -> Statement:
    best = candidates[strict[0]]
    return Statement(best.text, None, best.raw, candidates, rankings, strict, len(order[0]))


def _ranked(
    brief: MediatorBrief, seed: Seed, candidates: Sequence[Candidate], usable: Sequence[int]
) -> Conversation[tuple[Ranking, ...]]:
    """The predicted ranking of every member who wrote anything, all asked at once; unreadable ones up to ATTEMPTS
    times.
    """
    wrote = [place for place, heard in enumerate(brief.members) if heard.opinion or heard.critique]
    shown = {place: random.Random(seed("ballot", place)).sample(usable, len(usable)) for place in wrote}
    found: dict[int, Ranking] = {}
    waiting = wrote
    for attempt in range(ATTEMPTS):
        asked = [_ballot(brief, seed, candidates, place, shown[place], attempt) for place in waiting]
        replies = yield from ask_all(asked)
        for place, reply in zip(waiting, replies, strict=True):
            found[place] = _read(place, shown[place], reply, found.get(place))
        waiting = [place for place in waiting if found[place].order is None]
    return tuple(found[place] for place in wrote)


def _ballot(
    brief: MediatorBrief, seed: Seed, candidates: Sequence[Candidate], place: int, shown: Sequence[int], attempt: int
) -> Request:
    """The request for one member's ranking of the candidates in the order shown."""
    heard = brief.members[place]
    known = [f"Opinion: {heard.opinion}"] if heard.opinion else []
    if brief.previous is not None and heard.critique:
        known += [f"The last statement: {brief.previous}", f"Critique of it: {heard.critique}"]
    lines = [f"{letter}: {candidates[number].text}" for letter, number in zip(LETTERS, shown, strict=False)]
    slots = {"number": len(shown), "question": brief.question.question}
    text = prompt(PROMPTS, "ranking").fill(**slots, known="\n".join(known), statements="\n".join(lines))
    facts: Facts = {
        "opinion": heard.opinion or "",
        "critiques": [heard.critique] if brief.previous is not None and heard.critique else [],
        "candidates": [candidates[number].text or "" for number in shown],
    }
    named = seed("ranking", place, attempt)
    if not attempt:
        return brief.request(text, RANKING_TOKENS, named, "ranking", facts, temperature=0.0)
    again = prompt(PROMPTS, "reask").fill(survey=text)
    return brief.request(again, RANKING_TOKENS, named, "ranking", facts, temperature=brief.sampling.temperature or 1.0)


def _read(place: int, shown: Sequence[int], reply: Reply, before: Ranking | None) -> Ranking:
    """A reply as a ranking by the candidates' numbers; `before` is what came of the attempt before."""
    earlier = (*before.earlier, before.raw) if before else ()
    read = read_ranking(reply.text, len(shown))
    reason = reply.failure.name if reply.failure else read.reason
    order = None if read.order is None else _renamed(read.order, shown.__getitem__)
    return Ranking(place, order, reason, reply.text, len(earlier) + 1, earlier)


def _renamed(order: Places, name: Callable[[int], int]) -> Places:
    """The same ballot with other numbers for the candidates."""
    return tuple(tuple(map(name, place)) if isinstance(place, tuple) else name(place) for place in order)
