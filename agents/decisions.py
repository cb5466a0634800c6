"""Reads which of two options, A or B, a reply chooses. "A" is also a word, so a reply is read strictly."""

from __future__ import annotations

import re
from typing import NamedTuple

from parley.agents.foreign_replies import declines_elsewhere
from parley.agents.reply_cleaning import is_refusal
from parley.agents.scales import LONGEST

OPTIONS = ("A", "B")
_EDGE = "\"'“”‘’«»`*_()[]{}<>.!:;,–—- \t\n"
_CUE = (
    r"(?i:answer|choice|decision|option|choose|chose|pick|select|go(?:ing)? with|take|vote for|decide (?:for|on)"
    r"|antwort|wahl|entscheidung|wähle|nehme|entscheide mich für)"
)
_NAMED = re.compile(rf"\b{_CUE}\b(?: (?:is|ist|for|für|the|die))*:? ?(?:(?i:option) )?[\"'“*_(\[]*([AB])\b(?!')")
_FIRST = re.compile(
    r"(?:(?i:option) )?([AB])(?:[\"'”’»`*_)\]}>.!:;,–—]| ?\n| - |$| (?i:because|since|as|weil|da|denn)\b)"
)
_LISTED = re.compile(r"(?:(?i:option) )?[AB](?:[,/; ]| (?i:or|and|oder|und) | - )+(?:(?i:option) )?[AB]\b(?![' ]\w)")
_DENIED = re.compile(r"\b(?:not|never|neither|nor|nicht|kein\w*|nie|weder)\b|n't\b", re.I)


class OptionReading(NamedTuple):
    """The option that a reply chooses, or None and the reason why it is missing."""

    option: str | None
    reason: str | None = None


def read_option(text: str | None) -> OptionReading:
    """Read the one option that a reply chooses.

    It is the letter alone ("A", "**B**.", "Option A"), a letter before a break and a reason ("B, because ..."), or a letter after
    a word of choice ("I choose A"). Otherwise it is None with a reason: empty, too_long, refusal, no_option, several_options,
    denied_option ("I would not choose A"), unclear_option (a letter that may be a word).

    >>> read_option("I choose B."), read_option("A check is a check.").reason
    (OptionReading(option='B', reason=None), 'unclear_option')
    """
    plain = " ".join((text or "").replace("’", "'").replace("\n", " \n ").split(" ")).strip(_EDGE)
    if not plain:
        return OptionReading(None, "empty")
    if len(plain) > LONGEST:
        return OptionReading(None, "too_long")
    if is_refusal(plain) or declines_elsewhere(plain.lower()):
        return OptionReading(None, "refusal")
    if plain.upper() in OPTIONS:
        return OptionReading(plain.upper())
    if not re.search(r"\b[AB]\b", plain):
        return OptionReading(None, "no_option")
    named = list(_NAMED.finditer(plain)) or list(filter(None, [_FIRST.match(plain)]))
    options = {match[1] for match in named} | ({"A", "B"} if _LISTED.match(plain) else set())
    if len(options) > 1:
        return OptionReading(None, "several_options")
    if not options:
        return OptionReading(None, "unclear_option")
    denied = any(_DENIED.search(_clause(plain, match)) for match in named)
    return OptionReading(None, "denied_option") if denied else OptionReading(options.pop())


def _clause(text: str, match: re.Match[str]) -> str:
    """Return the words from the last break before a match to its end."""
    return text[1 + max(text.rfind(sign, 0, match.start()) for sign in ",;:.\n") : match.end()]
