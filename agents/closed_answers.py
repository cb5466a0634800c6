"""Reads which of the allowed answers a reply chooses: an option, an act, a word of a questionnaire, a number.

One grammar for all closed questions and languages (agents/languages/<code>/answers.toml). An answer counts where an answer
stands: alone, at the beginning of a clause before a break ("Sure, B."), or after a cue ("I would say B, because ..."). A reply
that cannot be read without guessing is None with a reason. Ratings on a scale are read by `parley.agents.scales.read_rating`,
rankings by `parley.agents.social_choice.read_ranking`, after the same undressing and with the same words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from parley.agents.answer_forms import LONGEST, MARK, answer_words, tidy, undressed
from parley.agents.foreign_replies import declines_elsewhere
from parley.agents.reply_cleaning import is_refusal
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.llm.request import Reply

OPTIONS = ("A", "B")
ANSWER_TOKENS = 40
"""Tokens of an answer to a closed question: a chat model that greets first needs more than the answer has."""
_OPEN, _CLOSE = r"[\"'“”‘«»„(\[{#<>| •–-]{0,6}+", r"[\"'”’“»«)\]}>|]{0,4}"
_REPEATED = re.compile(r"([\"'“”‘’«»„()\[\]{}#<>|.,:;!?•–-])\1{2,}")
_START = r"(?:^|(?<=[.,;:!?(–—\"“«„])|(?<= - ))"
_SIGN = re.compile(r"[,;:.!?\n]")
_SMALL = re.compile(r"^([^\w\n]{0,6})([a-z])(?=[^\w\n]*$|[).:](?: |$))", re.M)
_SMALL_NAMED = re.compile(
    r"(?<![\w-])((?:option|answer|letter|antwort|choice) )([a-z])(?=[^\w\n']*$|[.,;:!?)])", re.M | re.I
)

_LISTED = re.compile(r"^([^\w\n]{0,4}\d{1,2})\. (?=[^\W\d])", re.M)
_SLASH = re.compile(r"(?<=\d) ?/ ?(?=\d)")


class Chosen(NamedTuple):
    """The allowed answer that a reply chooses, or None and the reason why it is missing."""

    answer: str | None
    reason: str | None = None


def read_choice(
    text: str | None, answers: Sequence[str], forms: Mapping[str, str] | None = None, tail: str = ""
) -> Chosen:
    """Return the one of the allowed answers that a reply chooses.

    forms: other words for an answer (an option for its letter). tail: a pattern of what may follow an answer ("like post
    2"). A capital letter is an option, a small one only where it is alone. A marked answer ("Final answer: B", a box, a
    value of JSON) counts more than what was weighed before it. Reasons:

    empty, too_long, refusal
    no_answer        none of the answers is in the reply
    several_answers  several are in the place of an answer, or none is and several are named
    denied_answer    the only one is denied ("I would not choose A")
    unclear_answer   an answer's word inside a sentence, or what others say

    >>> read_choice("Sure! B, because it is cheaper than A.", OPTIONS), read_choice("A check is a check.", OPTIONS).reason
    (Chosen(answer='B', reason=None), 'unclear_answer')
    >>> read_choice("Not a man.", ["woman", "man"]).reason
    'denied_answer'
    """
    if text and len(text) > LONGEST:
        return Chosen(None, "too_long")
    plain = tidy(undressed(text or ""))
    if not re.search(r"\w", plain):
        return Chosen(None, "empty")
    answers_by_form = {_form(answer): answer for answer in answers} | {
        _form(form): answer for form, answer in (forms or {}).items()
    }
    if (whole := answers_by_form.get(_form(plain))) is not None:
        return Chosen(whole)
    grammar = _grammar(tuple(answers_by_form), tail)
    plain = _REPEATED.sub(r"\1", _SMALL_NAMED.sub(_capital, _SMALL.sub(_capital, plain)))
    elsewhere = _Elsewhere(plain)
    places = elsewhere.without(grammar.placed.finditer(plain))
    before = plain[: max((place.end() for place in places), default=len(plain))]
    if is_refusal(before) or declines_elsewhere(before.lower()):
        return Chosen(None, "refusal")
    chosen = {answers_by_form[_form(place["form"])] for place in places}
    marked = {answers_by_form[_form(place["form"])] for place in elsewhere.without(grammar.marked.finditer(plain))}
    alone = {answers_by_form[form] for line in plain.split("\n") if (form := _form(line)) in answers_by_form}
    if len(marked) == 1 and alone <= marked:
        return Chosen(marked.pop())
    offered = {answers_by_form[_form(mention["form"])] for mention in grammar.offered.finditer(plain)}
    mentions = list(grammar.named.finditer(plain))
    withdrawn = {answers_by_form[_form(mention[0])] for mention in mentions if elsewhere.holds(mention)}
    if len(chosen) == 1 and not (marked | offered) - chosen and not chosen & withdrawn:
        return Chosen(chosen.pop())
    named = chosen | {answers_by_form[_form(mention[0])] for mention in mentions}
    if len(named) != 1:
        return Chosen(None, "several_answers" if named else "no_answer")
    return Chosen(None, "denied_answer" if answer_words().denied.search(plain) else "unclear_answer")


def read_share(reply: Reply) -> tuple[float | None, str | None]:
    """Return the probability of A (1 or 0 where the model gives none), or None and the reason."""
    if reply.failure:
        return None, reply.failure.name
    if reply.answers:
        return float(reply.answers[OPTIONS[0]]), None
    option, reason = read_choice(reply.text, OPTIONS)
    return (None, reason) if option is None else (float(option == OPTIONS[0]), None)


def read_number(text: str | None, allowed: Sequence[float]) -> Reading:
    """Read one of some numbers, such as that of a post or of a message, by the strict reader of ratings: "post 2" and "#2" are 2.

    Further reason: not_offered, for a number that is not among those allowed.

    >>> read_number("I choose message 2.", (1, 2)).value, read_number("1 or 2", (1, 2)).reason, read_number("3", (1, 2)).reason
    (2.0, 'several_numbers', 'not_offered')
    """
    low, high = min(*allowed, max(allowed) - 1), max(allowed)
    scale = Scale(
        "number", NUMERIC, int(low), int(high), {int(low): "the first of them", int(high): "the last of them"}
    )
    plain = without_nouns(text)
    if len(_LISTED.findall(plain)) == 1:
        plain = _LISTED.sub(r"\1\n", plain)
    if low > 0:  # of the numbers 1 to 4, "2/4" is two of them and no share
        plain = _SLASH.sub(" or ", plain)
    reading = read_rating(plain, scale)
    if reading.reason == "out_of_range" or (reading.value is not None and reading.value not in allowed):
        return Reading(None, "not_offered")
    return reading


def without_nouns(text: str | None) -> str:
    """Return a tidy text without the nouns before numbers: "message #2" is "2"."""
    return answer_words().numbered.sub("", tidy(undressed(text or "")))


class _Grammar(NamedTuple):
    """Patterns for the allowed answers of a question: as the answer itself, behind a mark, anywhere, and before "or"."""

    placed: re.Pattern[str]
    marked: re.Pattern[str]
    named: re.Pattern[str]
    offered: re.Pattern[str]


@lru_cache(maxsize=512)
def _grammar(forms: tuple[str, ...], tail: str) -> _Grammar:
    words = answer_words()
    ordered = sorted(forms, key=len, reverse=True)
    words_of, letters = [re.escape(form) for form in ordered if not _is_letter(form)], filter(_is_letter, ordered)
    either = "|".join([
        *([rf"(?<!-)(?:{'|'.join(words_of)})(?!-)"] if words_of else []),
        *(f"(?-i:{letter.upper()}){'(?!,)' * (letter == 'i')}" for letter in letters),
    ])  # fmt: skip
    answer = rf"(?<!\w)(?<!\w')(?P<form>{either})(?!\w|'\w)"
    point = rf"{_OPEN}(?:the )?(?:(?:{words.nouns})[ :]{{1,2}}{_OPEN})?{answer}{_CLOSE}"
    after = rf"(?: ?[.,;:!?\n)]| ?$| ?[–—]| - | [(\"“]|,? (?:{words.reasons})(?![\w-]))"
    follows = rf"(?:{tail})?{_CLOSE}(?: (?:{words.tails}))?{_CLOSE}(?={after})"
    lead = rf"(?:(?:{words.leads}|{words.cues})[\"”']?(?:[,:]? ?[\"“'(]?)(?<=[ :,\"“'(]))"
    cue = rf"(?<![\w-])(?:{words.cues})[:,]? (?:(?:{words.leads}),? ){{0,3}}"
    mark = rf"(?:^|(?<=[\n.!?:,;{{\"])) ?(?:\w{{1,9}}, )?[\"']?(?:{words.marks})[\"']?(?: is| ist| est| es)? ?[:=]{{1,2}} ?"
    return _Grammar(
        re.compile(rf"(?:{_START}{_OPEN}{lead}{{0,6}}?|{cue}){point}{follows}", re.I | re.M),
        re.compile(rf"{mark}{point}{follows}", re.I | re.M),
        re.compile(answer, re.I),
        re.compile(rf"{answer}(?:{tail})?{_CLOSE} (?:{words.alternatives})(?![\w-])", re.I),
    )


class _Elsewhere:
    """Where the clauses of a text begin, and where in them a denial or the words of others end."""

    def __init__(self, text: str):
        self._clauses = [0, *(sign.end() for sign in _SIGN.finditer(text))]
        self._ends = [match.end() for match in answer_words().elsewhere.finditer(text)]

    def holds(self, place: re.Match[str]) -> bool:
        """Does the clause of an answer deny it, or say that it is that of others?"""
        start = place.start("form")
        before = bisect_right(self._ends, start)
        return before > 0 and self._ends[before - 1] > self._clauses[bisect_right(self._clauses, start) - 1]

    def without(self, places: Iterable[re.Match[str]]) -> list[re.Match[str]]:
        """Return the places of answers that are the speaker's own."""
        return [place for place in places if not self.holds(place)]


def _form(text: str) -> str:
    """Return how answers are compared: in small letters, without quotes, brackets and full stops around them."""
    return tidy(text).replace("–", "-").replace(MARK, "").lower().strip(" \t\n\"'“”‘’«»„()[]{}<>.!:;,#•-")


def _is_letter(form: str) -> bool:
    return len(form) == 1 and form.isalpha()


def _capital(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()
