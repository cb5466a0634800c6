"""The planted law of persuasion: how strong a message is for a reader, what advice is worth, and what a rewriting gains.

The strength of a message for a reader is, in logits,

    taste * (points by which it moves the reader toward the claim, by the law of dynamics.py without the drift)
    + longer * log2(words / USUAL_WORDS) + QUIRK * noise of reader and message

The strength of a reply to a post with a false claim is

    proof * (passages that it quotes with their source) + longer * log2(words / USUAL_WORDS) + QUIRK * noise

A reader prefers the first of two messages with the probability logistic(strength of the first - of the second + place), and rates
a message CENTRE + RATED * strength, kept on the scale. With taste 0 only the noise of readers is left: no message is better.

A writer draws a grade toward the claim (BASE). Advice adds what it is worth (banks/<code>/persuasion.toml), times `advice`. A
persuasive rewriting adds `gain` points to the grade of the message; a paraphrase adds nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.llm.errors import UserError

BASE = (4, 6, 8)
"""Grades (0-10, toward the claim) of messages without advice, each as likely."""
QUIRK = 0.5
"""Standard deviation of the noise of reader and message, in logits."""
USUAL_WORDS = 20
CENTRE, RATED = 5.0, 1.0
MOST = 100.0


class PersuasionLaw(NamedTuple):
    """The planted law; see the top of this file.

    taste: logits for each point of move. place: logits for the message shown first. longer: logits for each doubling of words.
    gain: points (0-10) of a persuasive rewriting. advice: 1 as the bank says, 0 for advice that is worth nothing. proof: logits
    for each quotation in a reply to a post.
    """

    taste: float = 5.0
    place: float = 0.0
    longer: float = 0.0
    gain: float = 2.0
    advice: float = 1.0
    proof: float = 1.0

    def check(self) -> None:
        """Errors: UserError for a number beyond MOST."""
        for name, value in self._asdict().items():
            if abs(value) > MOST:
                raise UserError(f"oracle: {name} must be a number from -{MOST:g} to {MOST:g}, as in oracle,{name}=1")

    def strength(self, moved: float, words: int, noise: float) -> float:
        """Return the strength of a message for a reader, in logits.

        moved: points by which it moves the reader toward the claim. noise: a standard normal number of reader and message.

        >>> PersuasionLaw(taste=5, longer=1).strength(0.2, 40, 0.0)
        2.0
        """
        return self.taste * moved + self._quirks(words, noise)

    def reply_strength(self, quotations: int, words: int, noise: float) -> float:
        """Return the strength of a reply to a post for a reader, in logits.

        >>> PersuasionLaw(proof=0.5).reply_strength(2, 40, 0.0)
        1.0
        """
        return self.proof * quotations + self._quirks(words, noise)

    def _quirks(self, words: int, noise: float) -> float:
        return self.longer * math.log2(max(words, 1) / USUAL_WORDS) + QUIRK * noise


READER = PersuasionLaw()
"""The law unless other numbers are planted."""
