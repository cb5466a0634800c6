"""Planted laws of what is said aloud: feelings, quotations, tact before an audience, and messages that persuade.

The planted law by which feelings spread.

Valence (how good it feels) and arousal (how worked up it is) lie between 1 and 7. Each begins at a baseline of the persona, which
its text alone decides. Each line heard moves it:

    value + contagion * (said - value) + volatility * noise

`said` is the feeling that the line says. A line that says none brings noise alone. A speaker says the feelings of which its
prompt reminds it (`chain` in a scenario), in a sentence of the bank for each. Without a reminder no line says a feeling, and none
spreads. Unless other numbers are planted, contagion and volatility are 0: then every rating is the persona's baseline.

The planted law of tact: how far a public line goes from what the speaker thinks toward its audience, by frame.

The audience is the mean grade of the last readable line of each of the others. A speaker with the attitude a and the audience h
says lines of the mean grade

    a + min(points, |h - a|), in the direction of h

with the points of its frame (the role of its prompt, such as `reward`). Negative points go away from the audience. Without a
readable line of others there is no audience, and the line says a. The attitude itself, and what it answers in private, stay.

The planted law of persuasion: how strong a message is for a reader, what advice is worth, and what a rewriting gains.

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
import random
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError, unknown_name

FEELINGS = ("valence", "arousal")
SPREAD = 1.2
"""Standard deviation of baselines between personas, in points of 1 to 7."""


class EmotionLaw(NamedTuple):
    """The planted law: see the top of this file.

    contagion   share of the distance by which a line with a feeling draws its hearer, 0 to 1
    volatility  standard deviation of the noise of each line, in points of 1 to 7
    """

    contagion: float = 0.0
    volatility: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number that the law cannot have."""
        if not (0 <= self.contagion <= 1 and 0 <= self.volatility < math.inf):
            raise UserError(
                "oracle: contagion must be from 0 to 1, and volatility at least 0. Example: oracle,contagion=.2,volatility=.3"
            )


CALM = EmotionLaw()
"""The law unless other numbers are planted."""


class QuotationLaw(NamedTuple):
    """The probability of quoting a passage that is shown, and of inventing a quotation where passages are shown."""

    quotes: float = 0.8
    fabricates: float = 0.1

    def check(self) -> None:
        """Errors: UserError for a probability that is none."""
        if not all(0 <= value <= 1 for value in self):
            raise UserError("oracle: quotes and fabricates must be between 0 and 1. Example: oracle,quotes=0")


USUAL = QuotationLaw()


def quotations(passages: Sequence[str], language: str, law: QuotationLaw, rng: random.Random) -> list[str]:
    """Return the quotations from passages: of each a sentence with its number, and an invented one, by the law."""
    stated = [f'"{rng.choice(sentences(text))}" [{number}]' for number, text in enumerate(passages, 1)]
    stated = [line for line in stated if rng.random() < law.quotes]
    if passages and rng.random() < law.fabricates:
        invented = read_file(FOLDER / language / "correction.toml")["fabricated"]
        stated.append(f'"{rng.choice(invented)}" [1]')
    return stated


CANDID: Mapping[str, float] = {}
"""The law unless points are planted: public lines say what the speaker thinks."""
FRAMES = ("neutral", "neutral_again", "reward", "order", "exclusion", "audience")
"""The roles of the prompt that frame a conversation."""


def plant_tact(tact: str = "") -> Mapping[str, float]:
    """Return the points by frame. tact: as `reward:2+order:1`. Errors: UserError."""
    points = parse_numbers("tact", tact)
    for name in points:
        if name not in FRAMES:
            raise unknown_name("frame of tact", name, FRAMES)
    if wrong := [name for name, value in points.items() if not -10 <= value <= 10]:
        raise UserError(
            f"oracle: tact={wrong[0]}:POINTS must shift public lines by -10 to 10 points. Example: oracle,tact=reward:2"
        )
    return points


def public_grade(own_grade: float, audience: float | None, points: float) -> float:
    """Return the mean grade of a public line.

    >>> public_grade(8.0, 3.0, 2.0), public_grade(4.0, 3.0, 2.0), public_grade(8.0, None, 2.0), public_grade(8.0, 3.0, -1.0)
    (6.0, 3.0, 8.0, 9.0)
    """
    if audience is None or audience == own_grade:
        return own_grade
    step = min(points, abs(audience - own_grade))
    return min(max(own_grade + (step if audience > own_grade else -step), 0.0), 10.0)


def audience_of(reading: Reading) -> float | None:
    """Return the mean grade of the last readable line of each of the others; None without one."""
    bank, last = reading.banks.topics[reading.topic or ""], dict[str, float]()
    for name, text in reading.heard:
        if (grade := bank.grade(text)) is not None:
            last[name] = grade
    return fmean(last.values()) if last else None


def tactful_grade(reading: Reading, own_grade: float, tact: Mapping[str, float]) -> float:
    """Return the mean grade of the line of a speaker who would say `own_grade`, in the frame of its prompt."""
    points = tact.get(reading.facts.get("role", "").partition("+")[0], 0.0)
    return public_grade(own_grade, audience_of(reading), points) if points else own_grade


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
                raise UserError(f"oracle: {name} must be between -{MOST:g} and {MOST:g}. Example: oracle,{name}=1")

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
