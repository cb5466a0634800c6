"""What people can do on a social medium, and the two functions that read an act, and a post's number, out of a reply.

The words of the acts are those of the language (`[acts]` in sentences.toml), with what each means. Missing is not zero: a
reply that cannot be read without guessing is None with a reason, and then nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from parley.agents.act_names import ACTS, UNTARGETED, Act
from parley.agents.foreign_replies import declines_elsewhere
from parley.agents.language import ENGLISH, Language
from parley.agents.reply_cleaning import is_refusal
from parley.agents.scales import LONGEST, NUMERIC, Reading, Scale, read_rating


class ShownPost(NamedTuple):
    """A post in a feed, as its reader sees it.

    number    its place in the feed, from 1
    iteration the number of the turn in which it was written
    author    the agent who wrote it, and `name` its name
    score     votes for it minus votes against it
    carrier   the name of who reposted it; "" if it came from its author
    followed  whether the reader follows the author
    """

    number: int
    iteration: int
    author: int
    name: str
    text: str
    score: int
    carrier: str = ""
    followed: bool = True


class ActReading(NamedTuple):
    """An act as it was read from a reply, or None and the reason why it is missing."""

    act: Act | None
    reason: str | None = None


def targets_of(act: str, feed: Sequence[ShownPost]) -> tuple[ShownPost, ...]:
    """Return the posts that an act can be about: to follow, those of strangers; to unfollow, those of people one follows."""
    if act in UNTARGETED:
        return ()
    if act in ("follow", "unfollow"):
        return tuple([post for post in feed if post.followed == (act == "unfollow")])
    return tuple(feed)


def offered_acts(allowed: Sequence[Act], feed: Sequence[ShownPost]) -> tuple[Act, ...]:
    """Return the acts that are possible with a feed, in the order given: no one can like a post in an empty feed."""
    return tuple([act for act in allowed if act in UNTARGETED or targets_of(act, feed)])


@cache
def act_words(language: Language = ENGLISH) -> Mapping[str, str]:
    """Return the word of each act in a language.

    >>> act_words()["repost"]
    'share'
    """
    return {act: str(language.data("sentences")["acts"][act][0]) for act in ACTS}


_EDGE = "\"'“”‘’«»`*_()[]{}<>.!:;,–—-• \t"
_LEAD = re.compile(
    r"^(?:(?:(?:my|the) )?(?:answer|action|act|choice|decision|antwort|wahl)(?: is| ist)?[:=]? "
    r"|(?:okay|ok|well|then)[,:]? |i(?: would|'d) like to |i(?: will|'ll| would|'d)?(?: choose| pick| select| go with)?(?: to)? "
    r"|ich (?:wähle|würde) |to )+"
)
_DENIED = re.compile(r"\b(?:not|never|no|neither|nor|without|nicht|kein\w*|nie)\b|n't\b")
_NUMBERED = re.compile(r"\b(?:posts?|numbers?|no\.|nr\.|beitrag|nummer) ?#?(?=\d)|#(?=\d)", re.I)
_BREAK = r"\n|[:;–—]| - |\. |, (?:because|since|as|weil|da|denn) "
_END = re.compile(rf"""["'”’»`*_)\]}}>.!]*(?:$|{_BREAK})|(?: [\w']+){{0,4}} \d+["'”’»`*_)\]}}>.!]*(?:$|{_BREAK})""")
"""What follows an act's word in the place of an answer: an end or a break, or the number of a post and then one."""


def read_act(text: str | None, offered: Sequence[Act], language: Language = ENGLISH) -> ActReading:
    """Read the one act that a reply names.

    A reply names an act if it is the act's word alone ("like", "**Like**."), or begins with it before the post's number
    ("like post 2") or before a break and a reason ("Like, because ..."). "Action:", "I choose to" and the like may come
    before it. Otherwise the act is None with one of these reasons:

    empty, too_long, refusal, no_act
    several_acts  words of several acts, and none in the place of an answer
    unclear_act   one act's word inside a sentence
    denied_act    the same, with not, never, ...
    not_offered   an act that is not possible now
    """
    plain = _plain(text)
    if not plain:
        return ActReading(None, "empty")
    if len(plain) > LONGEST:
        return ActReading(None, "too_long")
    if is_refusal(text or "") or declines_elsewhere(plain):
        return ActReading(None, "refusal")
    words = _words(language)
    pattern = re.compile(rf"(?<![\w'-])(?:{'|'.join(map(re.escape, words))})(?![\w'-])")
    acts = {words[word[0]] for word in pattern.finditer(plain)}
    if not acts:
        return ActReading(None, "no_act")
    bare = _LEAD.sub("", plain).lstrip(_EDGE)
    first = pattern.match(bare)
    if first is None or not _END.match(bare, first.end()):
        denied = _DENIED.search(plain) is not None
        return ActReading(None, "several_acts" if len(acts) > 1 else "denied_act" if denied else "unclear_act")
    act = words[first[0]]
    return ActReading(act) if act in offered else ActReading(None, "not_offered")


def _words(language: Language) -> dict[str, Act]:
    """Return the act of each word: those of the language, their synonyms, and the names of acts."""
    known = language.data("sentences")["acts"]
    words: dict[str, Act] = {act: act for act in ACTS}
    for act in ACTS:
        words |= {word.lower(): act for word in [known[act][0], *known[act][2:]]}
    return dict(sorted(words.items(), key=lambda item: -len(item[0])))


def _plain(text: str | None) -> str:
    lines = [" ".join(line.replace("’", "'").split()) for line in (text or "").lower().splitlines()]
    return _NUMBERED.sub("", "\n".join(filter(None, lines))).strip(_EDGE + "\n")


def read_number(text: str | None, allowed: Sequence[int]) -> Reading:
    """Read the number of a post, by the strict reader of ratings (agents/scales.py); "post 2" and "#2" are 2.

    Further reason: not_offered, for a number that is not among those allowed.
    """
    numbered = _NUMBERED.sub("", text or "")
    high = max(*allowed, 2)
    reading = read_rating(numbered, Scale("post", NUMERIC, 1, high, {1: "the first", high: "the last"}))
    if reading.reason == "out_of_range" or (reading.value is not None and reading.value not in allowed):
        return Reading(None, "not_offered")
    return reading
