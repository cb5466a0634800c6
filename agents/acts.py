"""What people can do on a social medium, and the function that reads an act out of a reply.

The words of the acts are those of the language (`[acts]` in sentences.toml), with what each means. Missing is not zero: a
reply that cannot be read without guessing is None with a reason, and then nothing is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from parley.agents.act_names import ACTS, UNTARGETED, Act
from parley.agents.closed_answers import Chosen, read_choice, without_nouns
from parley.agents.language import ENGLISH, Language


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


_POST = r"(?: [\w']{1,30}){0,4}? #?\d{1,3}"
"""What may follow an act's word: the number of a post."""


def read_act(text: str | None, offered: Sequence[Act], language: Language = ENGLISH) -> Chosen:
    """Read the one act that a reply names, with the number of a post behind it or without ("like", "like post 2").

    The reasons are those of `parley.agents.closed_answers.read_choice`, and not_offered: an act that is not possible now.
    """
    act, reason = read_choice(without_nouns(text), ACTS, _words(language), _POST)
    return Chosen(None, "not_offered") if act is not None and act not in offered else Chosen(act, reason)


@cache
def _words(language: Language) -> dict[str, str]:
    """Return the act of each word of the language, and of their synonyms."""
    act_words = language.data("sentences")["acts"]
    return {str(word): act for act in ACTS for word in [act_words[act][0], *act_words[act][2:]]}
