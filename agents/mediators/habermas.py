"""habermas: many candidate statements, a predicted ranking of them for each member, and Schulze's choice.

The mechanism of the Habermas Machine (Tessler, Bakker et al. 2024, Science), after its public code. Each candidate is
written from opinions and critiques in an order of its own. For every member the model predicts how that member would
rank the candidates, which are shown in an order drawn for the member. Schulze's method makes one order of the rankings
(`social_choice.schulze`); ties are broken by ballots drawn at random (`social_choice.break_ties`), and the first
candidate is the statement. The revision is made in the same way, from the last statement and the critiques of it.

Options
    candidates   statements that are written (16); at most 26, one letter each
    words        length of a statement that is asked for (100)
    rule         what makes one order of the rankings (schulze): schulze, ranked_pairs, borda, approval, maximin, nash,
                 instant_runoff (`choice_rules`)
    ballots      predicted: the mediator predicts every ranking (as in the public code); own: members rank the
                 candidates themselves; both: members rank them too, and the predicted rankings choose (predicted)

Departures: one prompted model writes and ranks (there: a fine-tuned writer and a reward model; the public code prompts
both). The reply is the statement, without the reasoning that the public prompts ask for first. A ballot may have ties.
Rankings are asked for at temperature 0. An unreadable one is asked for again in other words, at the temperature of
statements (1 if that is 0), because the same greedy question would get the same answer. If ATTEMPTS replies are
unreadable, the ranking is missing with its reason: the member has no ballot, and the others decide. If no member has a
ballot, the statement is missing; none is chosen at random.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parley.agents.ballots import ask_own, ask_predicted, renumbered
from parley.agents.choice_rules import RULES
from parley.agents.mediators.base import (
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
from parley.agents.social_choice import LETTERS, break_ties
from parley.llm.driver import Conversation
from parley.llm.request import Request


@dataclass(frozen=True)
class Habermas(Mediator):
    """See the module's manual page."""

    candidates: int = 16
    words: int = 100
    rule: str = "schulze"
    ballots: Literal["predicted", "own", "both"] = "predicted"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule is {self.rule}, but must be one of {', '.join(RULES)}")
        if self.ballots not in ("predicted", "own", "both"):
            raise ValueError(f"ballots is {self.ballots}, but must be predicted, own or both")
        if not 1 <= self.candidates <= len(LETTERS) or self.words < 1:
            raise ValueError(f"candidates must be between 1 and {len(LETTERS)}, and words must be at least 1")

    def calls(self, members: int) -> int:
        each = 2 if self.ballots == "both" else 1
        return self.candidates + (each * members if self.candidates > 1 else 0)

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        if not any(member.opinion for member in brief.members):
            return Statement(None, "no_opinions")
        candidates = yield from request_texts(
            lambda number, attempt: self._request(brief, seed, number, attempt), self.candidates
        )
        usable = [number for number, candidate in enumerate(candidates) if candidate.text is not None]
        if not usable:
            return Statement(None, "no_candidate", None, candidates)
        rankings, own_rankings = (
            (yield from self._ballots(brief, seed, candidates, usable)) if len(usable) > 1 else ((), ())
        )
        best, tied = usable, 1
        if len(usable) > 1:
            counted = own_rankings if self.ballots == "own" else rankings
            ballots = [renumbered(ranking.order, usable.index) for ranking in counted if ranking.order is not None]
            if not ballots:
                return Statement(None, "no_ranking", None, candidates, rankings, own=own_rankings)
            order = RULES[self.rule](ballots, len(usable))
            tied = len(order[0])
            best = [usable[place] for place in break_ties(order, ballots, random.Random(seed("ties")))]
        winner = candidates[best[0]]
        return Statement(winner.text, None, winner.raw, candidates, rankings, tuple(best), tied, own_rankings)

    def _ballots(
        self, brief: MediatorBrief, seed: Seed, candidates: Sequence[Candidate], usable: Sequence[int]
    ) -> Conversation[tuple[tuple[Ranking, ...], tuple[Ranking, ...]]]:
        """Return the predicted rankings and the members' own; those that are not asked for are empty."""
        texts = {number: candidates[number].text or "" for number in usable}
        predicted = () if self.ballots == "own" else (yield from ask_predicted(brief, seed, texts))
        own_rankings = () if self.ballots == "predicted" else (yield from ask_own(brief, seed, texts))
        return predicted, own_rankings

    def _request(self, brief: MediatorBrief, seed: Seed, number: int, attempt: int) -> Request:
        text, facts = load_instruction(brief, self.words, random.Random(seed("order", number)))
        return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", number, attempt), "statement", facts)
