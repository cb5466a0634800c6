"""Rating scales, and the one function that reads a rating out of a reply.

Missing is not zero: a reply that cannot be read without guessing is a None with a reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from parley.agents.languages import ENGLISH, declines_elsewhere, in_english, replace_number_words
from parley.llm.errors import UserError

NUMERIC, LABELLED = "numeric", "labelled"


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
        if any(point not in self.points or not label.strip() for point, label in self.labels.items()):
            raise UserError(
                f"scale {self.name}: a label is empty or its point is not between {self.low} and {self.high}"
            )
        if len(self.by_label) < len(self.labels):
            raise UserError(f"scale {self.name}: two points have the same label")

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
        return self.told(self.points)

    def told(self, order: Sequence[int]) -> str:
        """The named points as a phrase, in this order of points."""
        link = " means " if self.kind == NUMERIC else " "
        named = [f"{point}{link}{self.labels[point]}" for point in order if point in self.labels]
        return f"{', '.join(named[:-1])} and {named[-1]}" if self.kind == NUMERIC else ", ".join(named)

    @cached_property
    def by_label(self) -> dict[str, int]:
        """The point of each label, as labels look in a plain text; a label that holds another one comes first."""
        ordered = sorted(self.labels.items(), key=lambda item: -len(item[1]))
        return {_plain(label): point for point, label in ordered}

    @cached_property
    def label_pattern(self) -> re.Pattern[str]:
        """A label that stands by itself: "fair" is in neither "unfair" nor "fairly" nor "fair-minded"."""
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, self.by_label))})(?![\w-])")

    @cached_property
    def range_pattern(self) -> re.Pattern[str]:
        """An echo of the range: "on a scale of 0 to 10,", "(0-10)", "between 0 and 10"."""
        lead = r"\(?(?:(?:on|using) )?(?:(?:an?|the|this|that|your) )?(?:scale (?:of |from )?)?\(?"
        link = rf"(?:between {self.low} and|(?:from )?{self.low} ?(?:to|-|–|through))"
        return re.compile(rf" ?(?<![\w.]){lead}(?<![\w.]){link} ?{self.high}(?![\w.]*\d)(?: scale)?\)*,? ?")

    def attitude(self, rating: float, polarity: int = 1) -> float:
        """The rating on the topic's axis: 0 to 10, high meaning high. A 2 on a 1-7 scale is 1.67; reversed, 8.33."""
        share = (rating - self.low) / (self.high - self.low)
        return 10 * (share if self.polarity * polarity == 1 else 1 - share)

    def rating(self, attitude: float, polarity: int = 1) -> float:
        """The way back from `attitude`: 1.67 on the axis is a 2 on a 1-7 scale."""
        share = attitude / 10
        return self.low + (self.high - self.low) * (share if self.polarity * polarity == 1 else 1 - share)

    def expected(self, probabilities: Mapping[str, float]) -> float:
        """The mean rating of a distribution over `answers`."""
        return sum(point * probabilities[answer] for point, answer in zip(self.points, self.answers, strict=True))


class Reading(NamedTuple):
    """A rating on its scale, or None and the reason why there is none."""

    value: float | None
    reason: str | None = None


_NUMBER = re.compile(
    r"(?<![\w.^#$€£])(?<!\d,)(?<![a-z][-–])([-–]?\d+(?:\.\d+)?)(?![\w^+$€£]|[.,]\d|[-–][a-z]| ?%)"
    r"|\d+"  # other digits ("H1N1", "80%", "7,5", "1e1", "#1", "7+") have an empty group: no number to be read
)
_DENIED_NUMBER = re.compile(  # "I don't think it's a 7", "at least 7", "<3"
    r"(?:\b(?:not|never|hardly|neither|nor)\b|n't\b)(?! sure\b)[^.,;:!?\n]*\d"
    r"|\b(?:least|most|over|under|above|below|beyond|than|minus|negative|almost|nearly|barely|top|up to)(?: an?)? \d"
    r"|[<≤≥] ?\d"
)
# Where an answer stands. A list number ("1. It", "8) It", "Reasons: 1. It") and a count ("I have 3 sons") stand elsewhere.
_HEDGE = (
    r"(?:(?:an?|about|around|roughly|approximately|probably|maybe|perhaps|definitely|easily|honestly|still|now|just|like|so"
    r"|well|ok|okay|hm+|um+|solid|strong|firm|full|clear|high|low),? )*"
)
_POINT = r"(?:[\"'“‘«(\[{`#+]|<\w+>|[-–•>] )* ?[-–]?\d+(?:\.\d+)?(?!\d|\.\d)[\ufe0f\u20e3]*"
_NO_LIST = r"(?! ?[.)?]+ ?[\"'“(\[]*\w)"
_CLOSE = r"(?:[\"'”’»)\]}`]|</\w+>| (?=[.,;:!?\"')\]}]))*"
_BECAUSE = r",? (?:because|since|as|given|but|overall|today|right now|for me|in my (?:opinion|view)|on \w+ scale)\b"
_BREAK = rf"(?:[.,;:!?\n]|$| ?[-–—]| \(|{_BECAUSE})"
_I = (
    r"\bi(?:'d|'ll|'m)?(?: (?:would|will|do|am|be|have to|had to|want to|going to|must|can|could|might|should|still|just"
    r"|probably|honestly|personally|definitely|also))*"
)
_CUE = (
    rf"(?:{_I} (?:say|go(?: with| for)?|pick|choose|select|answer|guess|think|believe|feel|settle on|at"
    r"|(?:give|call) (?:it|this|that))(?: the number)?"
    rf"|{_I} (?:rate|score|rank|put|place|give|consider|set|assign)(?: [\w'-]+){{0,12}}? (?:at|as|an?)"
    rf"|{_I} (?:rate|score|rank)(?: [\w'-]+){{1,2}}"
    r"|\b(?:rating|score|answer|response|number|level|severity|choice|opinion|view)"
    r"(?:(?: [\w'-]+){0,12}? (?:is|would be|remains|stands at|stays at)| of|[\"']? ?[:=])"
    r"|\b(?:it|this|that|mine|problem)(?:'s| is| would be)|(?:\bis|'s) an?|\bdirais|\bsage|是)"
)
_ANSWER = re.compile(
    rf"^{_HEDGE}{_POINT}{_NO_LIST}{_CLOSE}{_BREAK}"
    r"|^(?!1\b)\d+\. \w"  # "8. It is a big problem": a list would begin with 1
    r"|(?:(?<!\bno)(?<!\bsec)(?<!\bart)(?<!\bvol)(?<!\bch)\.|[,;:!?=\n(]| [-–—]|\b(?:rating|score|answer) )"
    rf" ?{_HEDGE}{_POINT}{_NO_LIST}{_CLOSE}(?:[.!?]*(?:\n|$)| \(|{_BECAUSE})"
    rf"|\({_POINT}\)[.,;!]"
    rf"|{_CUE}\s?{_HEDGE}{_POINT}{_CLOSE}(?:{_BREAK}| in (?:the united|america|this country))"
)
_OUT_OF = re.compile(r"(?<=\d)(?: ?/ ?| out of (?:an? (?:possible|maximum of) )?)(\d+|ten|eleven|twelve)(?!\w|\.\d)")
_REFUSAL = re.compile(
    r"\b(?:as an ai|language model"
    r"|i(?: am|'m| must| have to)? (?:cannot|can't|unable|not able|won't|will not|refuse|decline)"
    r"(?! (?:overstate|overemphasi[sz]e|exaggerate|stress|emphasi[sz]e|believe|imagine|ignore|deny|lie|pretend|help but"
    r"|say enough|tell you how|express how)\b)"
    r"|i(?: would|'d)? (?:rather|prefer) not|(?:unable|not able) to (?:rate|answer|give|provide|assign|choose|express)"
    r"|i (?:have no|(?:do not|don't) (?:have|hold)(?: an?| any)?) (?:personal )?"
    r"(?:opinions?|feelings?|beliefs?|views?|preferences?))\b"
)
_DENIED = re.compile(  # "not a serious problem", "less than serious": up to the end of the sentence
    r"(?:\b(?:not|no|never|nor|neither|hardly|barely|less|more|than|almost|nearly|without|far from|anything but)\b"
    r"|n't\b)[^.;!?]*$"
)
_WORDS = {word: number for number, word in enumerate(ENGLISH)}
_WORD_ANSWER = re.compile(
    rf"(?:i(?:'d| would) (?:say|rate it)(?: an?)? )?({'|'.join(_WORDS)})( out of (?:ten|eleven|twelve|\d+)|/\d+)?[.!]*"
)
_SPELT = re.compile(rf"\b(?!one(?! (?:in|or|out|to)\b|/))({'|'.join(_WORDS)})\b")  # "one" is mostly a pronoun
_COMMA = re.compile(r"(?<![\w.,])(\d{1,2}),(\d{1,2})(?![\w.,%]| ?%)")
_YEAR = re.compile(r"(?<![\w.,^#$€£/–-])(?:1[5-9]|20)\d\d(?![\w^+$€£%/–-]|[.,]\d| ?%)")
_RAISED = str.maketrans(dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "^"))  # or NFKC would read 7² as 72
_SAME = str.maketrans({"’": "'", "‐": "-", "−": "-"})
_MARKDOWN = re.compile(r"\*+|\b_+|_+\b|\.{2,}")


def read_rating(text: str | None, scale: Scale, reader: str = "strict") -> Reading:
    """Read the rating in a reply.

    `strict` (default): one number, or one label of a labelled scale, that lies on the scale. Told twice the same is
    once; "8/10" and "8 out of 10" name the scale's end and are 8 on a scale that ends at 10; an echo of the range is
    skipped. Decimals between the ends are kept, years behind the rating are skipped. What cannot be read is put into
    English words, as far as agents/languages.toml has them (German, French, Spanish), and read again. Anything else is
    None: empty, refusal, no_number, several_numbers, out_of_range, unclear_number (glued, percent, a comma between what
    may be two numbers, spelt in a sentence, denied, a bound, or not where an answer stands: alone, first before a
    break, or at the end of a clause after a cue such as "I'd rate it"; so no list number and no count), other_scale (a
    denominator that is not the scale's end), no_label, several_labels, denied_label, label_and_number_disagree.
    `paper`: the first number, clamped to the scale (Taubenfeld et al. leave it open; this is what their public code
    does).
    """
    if text and text.isascii() and text.isdigit() and reader != "paper":  # nearly every reply
        return _on_scale(float(text), scale)
    plain = _plain(text or "")
    if not plain:
        return Reading(None, "empty")
    if reader == "paper":
        return _first_number(plain, scale)
    if _REFUSAL.search(plain) or declines_elsewhere(plain):
        return Reading(None, "refusal")
    return _read_labelled(plain, scale) if scale.kind == LABELLED else _read_number(plain, scale)


def _plain(text: str) -> str:
    """In lower case, with plain spaces, digits, hyphens and apostrophes, and without empty lines, emphasis and
    ellipses.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_RAISED)).translate(_SAME)
    lines = [" ".join(line.split()) for line in _MARKDOWN.sub(" ", text.lower()).splitlines()]
    return "\n".join(filter(None, lines))


def _first_number(text: str, scale: Scale) -> Reading:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return Reading(float(min(max(float(found[0]), scale.low), scale.high))) if found else Reading(None, "no_number")


def _read_number(text: str, scale: Scale, anywhere: bool = False) -> Reading:
    """The one number of a text, if it stands where an answer stands (or `anywhere`, beside a label that it must agree
    with).
    """
    found = _read_english(_without_years(_COMMA.sub(_point, text), scale), scale, anywhere)
    if found.value is None and (found.reason != "no_number" or replace_number_words(text)):
        return _read_english(_without_years(_COMMA.sub(_point, in_english(text)), scale), scale, anywhere)
    return found


def _read_english(text: str, scale: Scale, anywhere: bool) -> Reading:
    if word := _WORD_ANSWER.fullmatch(text):
        text = f"{_WORDS[word[1]]}{word[2] or ''}"
    bare = scale.range_pattern.sub(" ", text).strip()
    if any(end != scale.high for end in map(_number, _OUT_OF.findall(bare))):
        return Reading(None, "other_scale")
    bare = _OUT_OF.sub("", bare)
    digits = {_number(number) if number else None for number in _NUMBER.findall(bare)}
    found = digits.union(map(_number, _SPELT.findall(bare)))
    if len(found) != 1:
        return Reading(None, "several_numbers" if found else "no_number")
    value = found.pop()
    if value is None or not digits or _DENIED_NUMBER.search(bare) or not (anywhere or _ANSWER.search(bare)):
        return Reading(None, "unclear_number")
    return _on_scale(value, scale)


def _point(found: re.Match[str]) -> str:
    """A decimal comma as a point, where it is one: "7,5" and "7,2"; "6,7" may be two numbers."""
    whole, part = found[1], found[2]
    return f"{whole}.{part}" if part in ("0", "5", "25", "50", "75") or int(part) < int(whole) else found[0]


def _without_years(text: str, scale: Scale) -> str:
    """Without the years that stand behind the first number, which can be no ratings: "5. I lived through 1986"."""
    first = re.search(r"\d+", text)
    if first is None or scale.high >= 1000:
        return text
    return text[: first.end()] + _YEAR.sub("then", text[first.end() :])


def _on_scale(value: float, scale: Scale) -> Reading:
    return Reading(value + 0.0) if scale.low <= value <= scale.high else Reading(None, "out_of_range")


def _number(text: str) -> float:
    return float(_WORDS[text]) if text in _WORDS else float(text.replace("–", "-"))


def _read_labelled(text: str, scale: Scale) -> Reading:
    """One label, or one number, or both in agreement."""
    labels = list(scale.label_pattern.finditer(text))
    number = _read_number(text, scale, anywhere=bool(labels))
    if not labels:
        return Reading(None, "no_label") if number.reason == "no_number" else number
    found = {scale.by_label[label[0]] for label in labels}
    if len(found) > 1:
        return Reading(None, "several_labels")
    if any(_DENIED.search(text[: label.start()]) for label in labels):
        return Reading(None, "denied_label")
    point = float(found.pop())
    agrees = number.reason == "no_number" or number.value == point
    return Reading(point) if agrees else Reading(None, "label_and_number_disagree")
