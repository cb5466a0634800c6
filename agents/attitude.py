"""Rating scales, and the one function that reads a rating out of a reply.

Missing is not zero: a reply that cannot be read without guessing is a None with a reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from llm.errors import UserError

NUMERIC, LABELLED = "numeric", "labelled"
READERS = ("strict", "paper")


@dataclass(frozen=True)
class Scale:
    """Whole points from `low` to `high`. `labels` name points; a labelled scale names every one.

    `polarity` -1 turns the scale round: its high end is the low end of the topic's axis.
    """

    name: str
    kind: str
    low: int
    high: int
    labels: Mapping[int, str]
    polarity: int = 1

    def __post_init__(self) -> None:
        if self.kind not in (NUMERIC, LABELLED) or self.polarity not in (1, -1) or self.low >= self.high:
            raise UserError(
                f"scale {self.name}: kind must be numeric or labelled, polarity 1 or -1, and low below high"
            )
        needed = self.points if self.kind == LABELLED else (self.low, self.high)
        if any(point not in self.labels for point in needed):
            raise UserError(f"scale {self.name}: label {'every point' if self.kind == LABELLED else 'both ends'}")

    @cached_property
    def points(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The closed set of answers: the numbers as text, or the labels, from low to high."""
        return tuple(str(point) if self.kind == NUMERIC else self.labels[point] for point in self.points)

    @cached_property
    def anchors(self) -> str:
        """The named points as a phrase: `0 means not a problem at all and 10 means a very big problem`."""
        link = " means " if self.kind == NUMERIC else " "
        named = [f"{point}{link}{self.labels[point]}" for point in self.points if point in self.labels]
        return f"{', '.join(named[:-1])} and {named[-1]}" if self.kind == NUMERIC else ", ".join(named)

    def attitude(self, rating: float, polarity: int = 1) -> float:
        """The rating on the topic's axis: 0 to 10, high meaning high. A 2 on a 1-7 scale is 1.67; reversed, 8.33."""
        share = (rating - self.low) / (self.high - self.low)
        return 10 * (share if self.polarity * polarity == 1 else 1 - share)

    def expected(self, probabilities: Mapping[str, float]) -> float:
        """The mean rating of a distribution over `answers`."""
        return sum(point * probabilities[answer] for point, answer in zip(self.points, self.answers, strict=True))


class Reading(NamedTuple):
    """A rating on its scale, or None and the reason why there is none."""

    value: float | None
    reason: str | None = None


_NUMBER = re.compile(r"(?<![\w.,])[-−–]?\d+(?:[.,]\d+)?(?:[eE]\d+)?%?|\d+")
_REFUSAL = re.compile(
    r"\b(as an ai|language model"
    r"|i(?: am|'m)? (?:can(?:no|')t|cannot|unable|not able|won't|will not|refuse|decline)"
    r"|i (?:do not|don't) have (?:personal )?(?:opinions|feelings|beliefs|views))\b"
)
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = {word: number for number, word in enumerate(_DIGITS)}


def read_rating(text: str | None, scale: Scale, reader: str = "strict") -> Reading:
    """Read the rating in a reply.

    `strict` (default): one number, or one label of a labelled scale, that lies on the scale. Told twice the same is once;
    "8/10" and "8 out of 10" name the scale's end and are 8 on a scale that ends at 10; an echo of the range is skipped.
    Decimals between the ends are kept. Anything else is None: empty, refusal, no_number, several_numbers, out_of_range,
    other_scale (a denominator that is not the scale's end), several_labels, label_and_number_disagree.
    `paper`: the first number, clamped to the scale (Taubenfeld et al. leave it open; this is what their public code does).
    """
    if text is None or not text.strip():
        return Reading(None, "empty")
    plain = _plain(text)
    if reader == "paper":
        return _first_number(plain, scale)
    if _REFUSAL.search(plain):
        return Reading(None, "refusal")
    return _read_labelled(plain, scale) if scale.kind == LABELLED else _read_number(plain, scale)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("*", " ").split())


def _first_number(text: str, scale: Scale) -> Reading:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return Reading(min(max(float(found[0]), scale.low), scale.high)) if found else Reading(None, "no_number")


def _read_number(text: str, scale: Scale) -> Reading:
    word = re.fullmatch(
        rf"(?:i(?:'d| would) (?:say|rate it)(?: an?)? )?({'|'.join(_WORDS)})(?: out of (?:ten|{scale.high}))?[.!]*",
        text,
    )
    if word:
        return _on_scale(_WORDS[word[1]], scale)
    bare, denominators = _without_range(text, scale)
    if any(number != scale.high for number in denominators):
        return Reading(None, "other_scale")
    found = {_value(number) for number in _NUMBER.findall(bare)}
    if None in found or len(found) > 1:
        return Reading(None, "several_numbers" if len(found) > 1 else "out_of_range")
    value = next(iter(found), None)
    return Reading(None, "no_number") if value is None else _on_scale(value, scale)


def _without_range(text: str, scale: Scale) -> tuple[str, list[int]]:
    """The text without echoes of the scale's range and without denominators, and the denominators."""
    bare = re.sub(rf"(?<![\w.]){scale.low} ?(?:to|-|–|through) ?{scale.high}(?![\w.]*\d)", " ", text)
    found = [int(number) for number in re.findall(r"(?<=\d)(?: ?/ ?| out of (?:a possible )?)(\d+)", bare)]
    return re.sub(r"(?<=\d)(?: ?/ ?| out of (?:a possible )?)\d+", " ", bare), found


def _value(number: str) -> float | None:
    """The number, or None for what is not a plain one (percent, exponent, decimal comma)."""
    if any(mark in number for mark in "%e,"):
        return None
    return float(number.replace("−", "-").replace("–", "-"))


def _on_scale(value: float, scale: Scale) -> Reading:
    return Reading(float(value)) if scale.low <= value <= scale.high else Reading(None, "out_of_range")


def _read_labelled(text: str, scale: Scale) -> Reading:
    """One label, or one number, or both in agreement. A label inside a longer label ("fair" in "fairly") does not count."""
    names = sorted(scale.labels.items(), key=lambda item: -len(item[1]))
    found, rest = set(), text
    for point, label in names:
        if re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", rest):
            found.add(point)
            rest = re.sub(rf"(?<![\w-]){re.escape(label)}(?![\w-])", " ", rest)
    if len(found) > 1:
        return Reading(None, "several_labels")
    number = _read_number(text, scale)
    if not found:
        return Reading(None, "no_label") if number.reason == "no_number" else number
    point = found.pop()
    agrees = number.reason == "no_number" or number.value == point
    return Reading(float(point)) if agrees else Reading(None, "label_and_number_disagree")
