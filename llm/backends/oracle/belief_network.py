"""The planted law of a Bayesian hearer: a network of beliefs that messages update by the appeals that they make.

The claim (the upper end of the topic's axis is right) has REASONS reasons. All are true or false, and the hearer has a
probability for each of their 32 combinations. At first the claim is as probable as the speaker's attitude says (0-10 as 0-1), and
each reason has the truth value of the claim with probability LINK. Each sentence heard is about one of the reasons (by a digest
of its form), argues for or against it (its grade, 0-10 as -1 to 1), and makes one appeal. If the reason is so, it is likelier:

    P(sentence | reason) / P(sentence | no reason) = exp(weight of its appeal * direction)

The attitude is 10 times the probability of the claim, with normal noise for each report. The more a hearer has heard about a
reason, the less another sentence about it adds. With equal weights, persuasion does not depend on the appeal: that is the null.
Own lines change nothing, and there is no drift.

After Moore, Goodman, Haber and Kleiman-Weiner 2026. Their targets have networks of a language model's beliefs, fitted by topic,
and messages split by a language model; here both are planted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from parley.llm.backends.oracle.phrases import Banks, sentences
from parley.llm.errors import UserError
from parley.llm.seeding import digest

APPEALS = ("logos", "pathos", "ethos")
REASONS, LINK = 4, 0.8
SURE = 0.02
"""The prior of the claim is at least this far from 0 and 1, where no message could change it."""
STATES = tuple(product((False, True), repeat=REASONS + 1))
"""Truth values of the claim and of each reason."""


class BeliefNetwork(NamedTuple):
    """The planted law; see the top of this file. report: SD of the noise of a report, in points (0-10)."""

    logos: float
    pathos: float
    ethos: float
    report: float = 0.0

    def check(self) -> None:
        """Errors: UserError for numbers that the law cannot have."""
        if not (all(map(math.isfinite, self)) and self.report >= 0):
            raise UserError(
                "oracle: logos, pathos and ethos must be finite, and report at least 0. Example: oracle,logos=1,report=0.3"
            )

    def belief(self, banks: Banks, slug: str, start: float, heard: Sequence[str]) -> tuple[float, int]:
        """Return the attitude (0-10, without noise) after these texts, and the number of texts that could not be read."""
        joint, unread = prior(min(max(start / 10, SURE), 1 - SURE)), 0
        for text in heard:
            moves = evidence(banks, slug, text)
            unread += not moves
            for reason, appeal, direction in moves:
                factor = math.exp(getattr(self, appeal) * direction)
                joint = tuple(p * factor if state[1 + reason] else p for p, state in zip(joint, STATES, strict=True))
        claim = sum(p for p, state in zip(joint, STATES, strict=True) if state[0])
        return 10 * claim / sum(joint), unread


def plant_network(
    logos: float | None = None, pathos: float | None = None, ethos: float | None = None, report: float = 0.0
) -> BeliefNetwork | None:
    """Return the network if an appeal has a weight; the others weigh 0. Errors: UserError."""
    if (logos, pathos, ethos) != (None, None, None):
        return BeliefNetwork(logos or 0.0, pathos or 0.0, ethos or 0.0, report)
    if report:
        raise UserError("oracle: report only works with logos, pathos or ethos. Example: oracle,logos=1,report=0.3")
    return None


def prior(claim: float) -> tuple[float, ...]:
    """Return the probability of each of STATES before any message.

    >>> round(sum(p for p, state in zip(prior(0.3), STATES) if state[0]), 9), round(sum(prior(0.3)), 9)
    (0.3, 1.0)
    """
    return tuple(
        (claim if state[0] else 1 - claim) * math.prod(LINK if reason == state[0] else 1 - LINK for reason in state[1:])
        for state in STATES
    )


@lru_cache(maxsize=1 << 16)
def evidence(banks: Banks, slug: str, text: str) -> tuple[tuple[int, str, float], ...]:
    """Return the reason, the appeal and the direction (-1 to 1) of each sentence of a text that the bank knows."""
    bank = banks.topics[slug]
    bank_sentences = [sentence for sentence in sentences(text) if sentence in bank.forms]
    return tuple(
        (
            digest("reason", bank.forms[sentence])[0] % REASONS,
            appeal_of(bank.forms[sentence]),
            bank.grades[sentence] / 5 - 1,
        )
        for sentence in bank_sentences
    )


def appeal_of(form: str) -> str:
    """Return the appeal of a form of sentence: planted by a digest, it does not follow from the meaning."""
    return APPEALS[digest("appeal", form)[0] % len(APPEALS)]
