"""A closed question answered from a distribution over its answers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from parley.llm.request import Reply, Request
from parley.llm.seeding import derive

COVERED = 0.5
"""The least probability that the allowed answers must have together. With less the model was saying something else: its text is
read, and what cannot be read is missing.
"""


def set_choice(reply: Reply, request: Request, shares: Sequence[float]) -> None:
    """Put a distribution into a reply: shares by answer, scaled to sum to 1. What they came to before is `covered`.

    Its text is the most probable answer at temperature 0 (of equals the one that is listed last), else one drawn with the
    request's seed.
    """
    answers, temperature = request.answers, request.sampling.temperature
    if temperature == 0:
        reply.text = answers[max(range(len(answers)), key=lambda place: (shares[place], place))]
    else:
        weights = [(share / max(shares)) ** (1 / temperature) for share in shares]
        reply.text = random.Random(derive(request.seed, "answer")).choices(answers, weights)[0]
    total = sum(shares)
    reply.covered = min(total, 1.0)
    reply.answers = {answer: share / total for answer, share in zip(answers, shares, strict=True)}
