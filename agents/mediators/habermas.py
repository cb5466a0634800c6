"""habermas: many candidate statements, a predicted ranking of them for each member, and Schulze's choice.

The mechanism of the Habermas Machine (Tessler, Bakker et al. 2024, Science), after its public code. Each candidate is
written from opinions and critiques in an order of its own. For every member the model predicts how that member would
rank the candidates, which are shown in an order drawn for the member. Schulze's method makes one order of the rankings
(`social_choice.schulze`); ties are broken by ballots drawn at random (`social_choice.break_ties`), and the first
candidate is the statement. The revision is made in the same way, from the last statement and the critiques of it.

Options
    candidates   statements that are written (16); at most 26, one letter each
    words        length of a statement that is asked for (100)
    rule         schulze, or borda: what makes one order of the rankings (schulze). The rules of `social_choice` that
                 use scores
                 (approval, utilitarian, maximin) need ratings of candidates, which are not asked for

Departures: one prompted model writes and ranks (there: a fine-tuned writer and a reward model; the public code prompts
both). The reply is the statement, without the reasoning that the public prompts ask for first. A ballot may have ties.
Rankings are asked for at temperature 0. An unreadable one is asked for again in other words, at the temperature of
statements (1 if that is 0), because the same greedy question would get the same answer. If ATTEMPTS replies are
unreadable, the ranking is missing with its reason: the member has no ballot, and the others decide. If no member has a
ballot, the statement is missing; none is chosen at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parley.agents.mediators.base import (
    Candidate,
    Mediator,
    MediatorBrief,
    Ranking,
    Seed,
    Statement,
    ask_until_usable,
    load_instruction,
    request_texts,
)
from parley.agents.mediators.draft_revise import TOKENS_PER_WORD
from parley.agents.social_choice import LETTERS, Contest, Places, Tally, borda, break_ties, read_ranking, schulze
from parley.llm.driver import Conversation
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
        if not any(member.opinion for member in brief.members):
            return Statement(None, "no_opinions")
        candidates = yield from request_texts(
            lambda number, attempt: self._request(brief, seed, number, attempt), self.candidates
        )
        usable = [number for number, candidate in enumerate(candidates) if candidate.text is not None]
        if not usable:
            return Statement(None, "no_candidate", None, candidates)
        rankings: tuple[Ranking, ...] = ()
        best, tied = usable, 1
        if len(usable) > 1:
            rankings = yield from _request_rankings(brief, seed, candidates, usable)
            ballots = [_renumbered(one.order, usable.index) for one in rankings if one.order is not None]
            if not ballots:
                return Statement(None, "no_ranking", None, candidates, rankings)
            order = RULES[self.rule](ballots, len(usable)).order
            tied = len(order[0])
            best = [usable[place] for place in break_ties(order, ballots, random.Random(seed("ties")))]
        winner = candidates[best[0]]
        return Statement(winner.text, None, winner.raw, candidates, rankings, tuple(best), tied)

    def _request(self, brief: MediatorBrief, seed: Seed, number: int, attempt: int) -> Request:
        text, facts = load_instruction(brief, self.words, random.Random(seed("order", number)))
        return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", number, attempt), "statement", facts)


def _request_rankings(
    brief: MediatorBrief, seed: Seed, candidates: Sequence[Candidate], usable: Sequence[int]
) -> Conversation[tuple[Ranking, ...]]:
    """Ask for the predicted ranking of every member who wrote anything."""
    writers = [place for place, member in enumerate(brief.members) if member.opinion or member.critique]
    shown = {place: random.Random(seed("ballot", place)).sample(usable, len(usable)) for place in writers}
    rankings = yield from ask_until_usable(
        writers,
        lambda place, attempt: _ballot(brief, seed, candidates, place, shown[place], attempt),
        lambda place, reply, before: _read_ballot(place, shown[place], reply, before),
        lambda ranking: ranking.order is not None,
    )
    return tuple(rankings.values())


def _ballot(
    brief: MediatorBrief, seed: Seed, candidates: Sequence[Candidate], place: int, shown: Sequence[int], attempt: int
) -> Request:
    """Return the request for one member's ranking of the candidates in the order shown."""
    member = brief.members[place]
    language = brief.question.place.language
    known = [f"{language.words('opinion')}: {member.opinion}"] if member.opinion else []
    if brief.previous is not None and member.critique:
        known.append(language.fill("last_statement", statement=brief.previous))
        known.append(language.fill("critique_of_it", critique=member.critique))
    lines = [f"{letter}: {candidates[number].text}" for letter, number in zip(LETTERS, shown, strict=False)]
    slots = {"number": len(shown), "question": brief.question.question}
    text = language.prompt("ranking").fill(**slots, known="\n".join(known), statements="\n".join(lines))
    facts: Facts = {
        "opinion": member.opinion or "",
        "critiques": [member.critique] if brief.previous is not None and member.critique else [],
        "candidates": [candidates[number].text or "" for number in shown],
    }
    named = seed("ranking", place, attempt)
    if not attempt:
        return brief.request(text, RANKING_TOKENS, named, "ranking", facts, temperature=0.0)
    again = language.prompt("reask").fill(survey=text)
    return brief.request(again, RANKING_TOKENS, named, "ranking", facts, temperature=brief.sampling.temperature or 1.0)


def _read_ballot(place: int, shown: Sequence[int], reply: Reply, before: Ranking | None) -> Ranking:
    """Read a ranking by the candidates' numbers. before: the result of the attempt before."""
    earlier = (*before.earlier, before.raw) if before else ()
    ranking = read_ranking(reply.text, len(shown))
    reason = reply.failure.name if reply.failure else ranking.reason
    order = None if ranking.order is None else _renumbered(ranking.order, shown.__getitem__)
    return Ranking(place, order, reason, reply.text, len(earlier) + 1, earlier)


def _renumbered(order: Places, number: Callable[[int], int]) -> Places:
    """Return the same ballot with other numbers for the candidates."""
    return tuple(tuple(map(number, place)) if isinstance(place, tuple) else number(place) for place in order)
