"""Rating scales, and `read_rating`, which reads a rating out of a reply.

Missing is not zero: a reply that cannot be read without guessing is None with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from parley.agents.answer_forms import LONGEST, answer_words, tidy, undressed
from parley.agents.foreign_replies import ENGLISH, declines_elsewhere, in_english, replace_number_words
from parley.llm.errors import UserError

NUMERIC, LABELLED = "numeric", "labelled"


@dataclass(frozen=True)
class Scale:
    """A scale of whole points from `low` to `high`. `labels` name points; a labelled scale names every point.

    `polarity` -1 reverses the scale: its high end is the low end of the topic's axis.
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
                f"scale {self.name}: kind must be numeric or labelled, polarity must be 1 or -1, and low must be below high"
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
        """The allowed answers from low to high: numbers as text, or labels."""
        return tuple(str(point) if self.kind == NUMERIC else self.labels[point] for point in self.points)

    @cached_property
    def anchors(self) -> str:
        """The named points as a phrase: `0 means not a problem at all and 10 means a very big problem`."""
        return self.name_points(self.points)

    def name_points(self, order: Sequence[int], means: str = "means", and_: str = "and") -> str:
        """Return the named points as a phrase, in this order of points. means, and_: the words of the language."""
        link = f" {means} " if self.kind == NUMERIC else " "
        named = [f"{point}{link}{self.labels[point]}" for point in order if point in self.labels]
        return f"{', '.join(named[:-1])} {and_} {named[-1]}" if self.kind == NUMERIC else ", ".join(named)

    @cached_property
    def by_label(self) -> dict[str, int]:
        """The point of each label in plain text, longer labels first, because one may contain another."""
        return {
            _plain(self.labels[point]): point
            for point in sorted(self.labels, key=lambda point: -len(self.labels[point]))
        }

    @cached_property
    def label_pattern(self) -> re.Pattern[str]:
        """A pattern for whole labels: "fair" is not found in "unfair", "fairly" or "fair-minded"."""
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, self.by_label))})(?![\w-])")

    @cached_property
    def range_pattern(self) -> re.Pattern[str]:
        """A pattern for echoes of the range: "on a scale of 0 to 10,", "(0-10)", "between 0 and 10"."""
        lead = r"\(?(?:(?:on|using) )?(?:(?:an?|the|this|that|your) )?(?:scale (?:of |from )?)?\(?"
        link = rf"(?:between {self.low} and|(?:from )?{self.low} ?(?:to|-|–|through))"
        return re.compile(rf" ?(?<![\w.]){lead}(?<![\w.]){link} ?{self.high}(?![\w.]*\d)(?: scale)?\)*,? ?")

    @cached_property
    def echo_pattern(self) -> re.Pattern[str]:
        """A pattern for echoes of what both ends mean: "(where 0 means no problem and 10 means a very big problem)"."""
        low, high = (self._point_pattern(point) for point in (self.low, self.high))
        either = rf"(?:{low}[,;]?(?: \w+)? {high}|{high}[,;]?(?: \w+)? {low})"
        return re.compile(rf" ?[(\[]?(?:\b[^\W\d]+ )?{either}[)\]]?")

    @cached_property
    def equation_patterns(self) -> dict[str, re.Pattern[str]]:
        """By its number, a pattern for each named point with its own label: "10 = a very big problem" is 10."""
        return {str(point): re.compile(self._point_pattern(point)) for point in self.labels}

    def _point_pattern(self, point: int) -> str:
        return rf"(?<![\w.,-]){point} ?(?:\b[^\W\d]+\b|[=:–-]) ?{re.escape(_plain(self.labels[point]))}(?![\w-])"

    def attitude(self, rating: float, polarity: int = 1) -> float:
        """Return a rating on the topic's axis, 0 to 10. A 2 on a 1-7 scale is 1.67, and 8.33 if the scale is reversed."""
        share = (rating - self.low) / (self.high - self.low)
        return 10 * (share if self.polarity * polarity == 1 else 1 - share)

    def rating(self, attitude: float, polarity: int = 1) -> float:
        """Return the rating of an attitude: 1.67 on the axis is a 2 on a 1-7 scale."""
        share = attitude / 10
        return self.low + (self.high - self.low) * (share if self.polarity * polarity == 1 else 1 - share)

    def expected(self, probabilities: Mapping[str, float]) -> float:
        """Return the mean rating of a distribution over `answers`."""
        return sum(point * probabilities[answer] for point, answer in zip(self.points, self.answers, strict=True))


class Reading(NamedTuple):
    """A rating as it was read from a reply (in points of its scale), or None and the reason why it is missing.

    `agents.agent.Rating` adds the axis and the distribution; `model.events.Rated` is its line in the record.
    """

    value: float | None
    reason: str | None = None


_NUMBER = re.compile(
    r"(?<![\w.^#$€£])(?<!\d,)(?<![a-z][-–])([-–]?\d+(?:\.\d+)?)(?![\w^+$€£]|[.,]\d|[-–][a-z]| ?%)"
    r"|\d+"  # other digits ("H1N1", "80%", "7,5", "1e1", "#1", "7+") give an empty group: not readable
)
_DENIED_NUMBER = re.compile(  # "I don't think it's a 7", "at least 7", "<3"
    r"(?:\b(?:not|never|hardly|neither|nor)\b|n't\b)(?! sure\b)[^.,;:!?\n]*\d"
    r"|\b(?:least|most|over|under|above|below|beyond|than|minus|negative|almost|nearly|barely|top|up to)(?: an?)? \d"
    r"|[<≤≥] ?\d"
)
# Patterns for the place of an answer, unlike a list number ("1. It", "8) It") or a count ("I have 3 sons").
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
    r"(?:(?: [\w'-]+){0,24}? (?:is|would be|remains|stands at|stays at)| of|[\"']? ?[:=])"
    r"|\b(?:it|this|that|mine|problem)(?:'s| is| would be)|(?:\bis|'s) an?|\bdirais|\bsage|[是打给給选選为為])"
)
_ANSWER = re.compile(
    rf"^{_HEDGE}{_POINT}{_NO_LIST}{_CLOSE}{_BREAK}"
    r"|^(?!1\b)\d+\. \w"  # "8. It is a big problem": a list would begin with 1
    r"|(?:(?<!\bno)(?<!\bsec)(?<!\bart)(?<!\bvol)(?<!\bch)\.|[,;:!?=\n(]| [-–—]|\b(?:rating|score|answer) )"
    rf" ?{_HEDGE}{_POINT}{_NO_LIST}{_CLOSE}(?:[.!?]*(?:\n|$)| \(|{_BECAUSE})"
    rf"|\({_POINT}\)[.,;!]"
    rf"|{_CUE}\s?{_HEDGE}{_POINT}{_CLOSE}(?:{_BREAK}| in (?:the united|america|this country))"
)
_ALONE = re.compile(rf"{_POINT}(?: ?/ ?\d+)?{_CLOSE}[.!]?")
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
_DENIED = re.compile(  # "not a serious problem", "less than serious": before a label, in its sentence
    r"(?:\b(?:not|no|never|nor|neither|hardly|barely|less|more|than|almost|nearly|without|far from|anything but)\b"
    r"|n't\b)"
)
_OTHERS = re.compile(  # the name of an end may be what others say, or what is not so
    r"\b(?:but|however|though|although|yet|while|whereas|some|others|people|they|if|would|aber|obwohl|manche|mais|pero)\b"
)
_WORDS = {word: number for number, word in enumerate(ENGLISH)}
_WORD_ANSWER = re.compile(
    rf"(?:i(?:'d| would) (?:say|rate it)(?: an?)? )?({'|'.join(_WORDS)})( out of (?:ten|eleven|twelve|\d+)|/\d+)?[.!]*"
)
_SPELT = re.compile(rf"\b(?!one(?! (?:in|or|out|to)\b|/))({'|'.join(_WORDS)})\b")  # "one" is mostly a pronoun
_BRACKETED = re.compile(r"(?: [a-z]+){0,2} ?\((\d+)\)")
"""The number of a label behind it, with at most two words between: "a serious problem (8)"."""
_ANY_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_COMMA = re.compile(r"(?<![\w.,])(\d{1,2}),(\d{1,2})(?![\w.,%]| ?%)")
_YEAR = re.compile(r"(?<![\w.,^#$€£/–-])(?:1[5-9]|20)\d\d(?![\w^+$€£%/–-]|[.,]\d| ?%)")
_MARKED = re.compile(
    r"(?:^|[.!?:;,] )(?:so |thus |therefore )?(?:my |the |meine |die |ma |la |mi )?(?:(?:final|endgültige) (?:answer|rating"
    r"|score|choice|antwort|bewertung)|réponse finale|respuesta final) ?(?:is|ist|est|es|=|:) ?([^.\n]{1,40}(?:\.\d+)?)"
    r"|^[\[{\"' ]{0,3}(?:rating|answer|score|antwort|bewertung|réponse|note|respuesta)[\"']? ?[:=] ?[\"']?(\d+(?:\.\d+)?)"
    r"(?=[\"',} .]|$)"
)
"""Marks of a final answer: in words anywhere, or the name of an answer and a colon where a line or a JSON object begins."""
_LIST_NUMBER = re.compile(r"^\W{0,3}\d+[.)] ?\D", re.M)
_WEIGHED = ("several_numbers", "unclear_number", "other_scale", "several_labels")
"""Why a reply with further numbers could not be read, although it may have a marked answer."""
_POINTS = re.compile(
    r"(?<=\d) (?:points?|punkte?n?|puntos?)(?=[.!]{0,3}(?:\n|$)|/| (?:out of|on (?:a|the|this) scale|because|sur|von|de)\b)"
)


def read_rating(text: str | None, scale: Scale, reader: str = "strict") -> Reading:
    """Read the rating in a reply, with one of two readers.

    `strict` (default) takes one number, or one label of a labelled scale, that is on the scale. The same number twice
    is read once; "8/10" and "8 out of 10" are 8 on a scale that ends at 10; an echo of the range and years after the
    rating are skipped. Decimals are kept. If the reply cannot be read, it is translated into English words as far as
    agents/languages/<code>/reader.toml has them (German, French, Spanish) and read again. All else is None with one of
    these reasons:

    empty, refusal, too_long, no_number, several_numbers, out_of_range,
    no_label, several_labels, denied_label, unclear_label (what others say)
    label_and_number_disagree  also on a numeric scale: the name of one end, and a number on the other half ("It is a very big
                    problem. 0.")
    other_scale     a denominator that is not the end of the scale
    unclear_number  glued to a word, a percentage, a comma between what may be two numbers, spelt in a sentence, denied,
                    a bound, or not in the place of an answer: alone, first before a break, or at the end of a clause after
                    a cue such as "I'd rate it". So list numbers and counts are not read.

    `paper` takes the first number and clamps it to the scale (Taubenfeld et al. leave it open; their public code does
    this).
    """
    if text and len(text) > LONGEST:
        return Reading(None, "too_long")
    if text and text.isascii() and text.isdigit() and reader != "paper":  # nearly every reply
        return _on_scale(float(text), scale)
    plain = _plain((text if reader == "paper" else undressed(text)) if text else "")
    if not plain:
        return Reading(None, "no_number" if text and _plain(text) else "empty")
    if reader == "paper":
        first = re.search(r"-?\d+(?:\.\d+)?", plain)
        return Reading(float(min(max(float(first[0]), scale.low), scale.high))) if first else Reading(None, "no_number")
    if _REFUSAL.search(plain) or declines_elsewhere(plain):
        return Reading(None, "refusal")
    read = _read_labelled if scale.kind == LABELLED else _read_numeric
    reading = read(plain, scale)
    if reading.value is None and reading.reason in _WEIGHED:
        return _read_final(plain, scale, read) or reading
    return reading


def _read_final(text: str, scale: Scale, read: Callable[[str, Scale], Reading]) -> Reading | None:
    """Read a marked answer ("Final answer: 7"), or a line that is nothing but an answer, of a text with further numbers.

    None where there is none, where two of them differ, or where another answer is elsewhere.
    """
    lines = text.split("\n")
    marked = {piece for line in lines for groups in _MARKED.findall(line) for piece in groups if piece}
    alone = [line for line in lines if _ALONE.fullmatch(line)]
    rest = "\n".join(line for line in lines if line not in alone)
    pieces = marked or (set() if _ANSWER.search(rest) or _LIST_NUMBER.search(rest) else set(alone))
    readings = {read(piece, scale) for piece in (*pieces, *alone)}
    return readings.pop() if pieces and len(readings) == 1 else None


def _plain(text: str) -> str:
    """Return a tidy text in lower case."""
    return tidy(text).lower()


def _read_labelled(text: str, scale: Scale) -> Reading:
    """Read one label, or one number, or both if they agree."""
    labels = list(scale.label_pattern.finditer(text))
    number = _read_number(_without_numbers_of_the_topic(text, labels, scale), scale, anywhere=bool(labels))
    if not labels:
        return Reading(None, "no_label") if number.reason == "no_number" else number
    point, *others = {scale.by_label[label[0]] for label in labels}
    if others:
        return Reading(None, "several_labels")
    if any(_DENIED.search(text, _clause_start(text, label.start()), label.start()) for label in labels):
        return Reading(None, "denied_label")
    if any(answer_words().others.search(text, _clause_start(text, label.start()), label.start()) for label in labels):
        return Reading(None, "unclear_label")
    agree = number.reason == "no_number" or number.value == point
    return Reading(float(point)) if agree else Reading(None, "label_and_number_disagree")


def _without_numbers_of_the_topic(text: str, labels: Sequence[re.Match[str]], scale: Scale) -> str:
    """Return a text without numbers above the scale before a label with its own number: "a poll by 2030 is a poor idea (3)".

    If the label has no number in brackets, such a number may be an answer on another scale, and stays.
    """
    for label in labels:
        own_number = _BRACKETED.match(text, label.end())
        if own_number and int(own_number[1]) == scale.by_label[label[0]]:
            before = _ANY_NUMBER.sub(
                lambda match: match[0] if float(match[0].replace(",", ".")) <= scale.high else " ",
                text[: label.start()],
            )
            return before + text[label.start() :]
    return text


def _read_numeric(text: str, scale: Scale) -> Reading:
    """Read one number. The name of an end is no answer, but one that contradicts the number makes it unreadable."""
    for point, pattern in scale.equation_patterns.items() if any(label in text for label in scale.by_label) else ():
        text = pattern.sub(point, scale.echo_pattern.sub(" ", text).strip())
    reading = _read_number(text, scale)
    if reading.value is None:
        return reading
    named = {
        scale.by_label[label[0]]
        for label in scale.label_pattern.finditer(text)
        if not _DENIED.search(text, _clause_start(text, label.start()), label.start())
    }
    middle = (scale.low + scale.high) / 2
    others = len(named) == 1 and not _OTHERS.search(text)
    if others and (named.pop() - middle) * (reading.value - middle) < 0:
        return Reading(None, "label_and_number_disagree")
    return reading


def _clause_start(text: str, place: int) -> int:
    """Return where the sentence around a place begins."""
    return 1 + max(text.rfind(sign, 0, place) for sign in ".;!?")


def _read_number(text: str, scale: Scale, anywhere: bool = False) -> Reading:
    """Read the one number of a text in the place of an answer, or `anywhere` in it next to a label that it must agree with."""
    reading = _read_english(text, scale, anywhere)
    if reading.value is None and (reading.reason != "no_number" or replace_number_words(text)):
        return _read_english(in_english(text), scale, anywhere)
    return reading


def _read_english(text: str, scale: Scale, anywhere: bool) -> Reading:
    text = _COMMA.sub(_decimal_point, _POINTS.sub("", text))
    first = re.search(r"\d+", text)
    if first and scale.high < 1000:  # years after the first number are no ratings: "5. I lived through 1986"
        text = text[: first.end()] + _YEAR.sub("then", text[first.end() :])
    if word := _WORD_ANSWER.fullmatch(text):
        text = f"{_WORDS[word[1]]}{word[2] or ''}"
    bare = scale.range_pattern.sub(" ", text).strip()
    if any(_number(end) != scale.high for end in _OUT_OF.findall(bare)):
        return Reading(None, "other_scale")
    bare = _OUT_OF.sub("", bare)
    digits = {_number(number) if number else None for number in _NUMBER.findall(bare)}
    numbers = digits.union(map(_number, _SPELT.findall(bare)))
    if len(numbers) != 1:
        return Reading(None, "several_numbers" if numbers else "no_number")
    (value,) = numbers
    if value is None or not digits or _DENIED_NUMBER.search(bare) or not (anywhere or _ANSWER.search(bare)):
        return Reading(None, "unclear_number")
    return _on_scale(value, scale)


def _decimal_point(number: re.Match[str]) -> str:
    """Replace a decimal comma ("7,5", "7,2") by a point; keep a comma that may separate two numbers ("6,7")."""
    whole, fraction = number.groups()
    return (
        f"{whole}.{fraction}" if fraction in ("0", "5", "25", "50", "75") or int(fraction) < int(whole) else number[0]
    )


def _number(text: str) -> float:
    return float(_WORDS[text]) if text in _WORDS else float(text.replace("–", "-"))


def _on_scale(value: float, scale: Scale) -> Reading:
    return Reading(value + 0.0) if scale.low <= value <= scale.high else Reading(None, "out_of_range")
