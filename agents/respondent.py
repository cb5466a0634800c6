"""A respondent: it answers one closed question of a survey, as a member of a group or of no group. It has no memory.

prefix   a sentence before the question names the group, as in GlobalOpinionQA (2023)
persona  the system message says that the model is a member of the group, as in SimBench (2025) and OpinionQA (2023)
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, Chosen, read_choice
from parley.agents.language import Language
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PURPOSE = "poll"
LETTERS = ascii_uppercase
"""Options are lettered, so that every answer is one token of most models; more options than letters are refused."""


class Group(NamedTuple):
    """A group of people. text: the words that describe it to a model; "" for those of the language. country: it is one."""

    name: str
    text: str = ""
    country: bool = False


class Respondent(NamedTuple):
    """Who is asked, and how: way is `prefix` or `persona`."""

    language: Language
    way: str = "prefix"
    temperature: float = 1.0

    def compose(self, question: str, options: Sequence[str], group: Group | None, seed: int) -> Request:
        """Ask a question. group: whose member answers; None for the question alone."""
        letters = LETTERS[: len(options)]
        listed = "\n".join(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True))
        poll_text = self.language.prompt("poll").fill(question=question, options=listed, letters=", ".join(letters))
        facts: Facts = {"question": question, "choices": tuple(options), "group": group.name if group else ""}
        named = self.introduce(group) if group else ""
        if named and self.way == "persona":
            messages: tuple[Message, ...] = (Message("system", named), Message("user", poll_text))
        else:
            messages = (Message("user", f"{named}\n\n{poll_text}" if named else poll_text),)
        sampling = Sampling(self.temperature, ANSWER_TOKENS)
        return Request(messages, sampling, seed, tuple(letters), PURPOSE, facts=facts)

    def introduce(self, group: Group) -> str:
        """Return the words that name a group to a model.

        >>> from parley.agents.language import ENGLISH
        >>> Respondent(ENGLISH).introduce(Group("Kenya", country=True))
        'How would someone from Kenya answer the question below?'
        """
        if group.text:
            return group.text
        start = "poll_persona" if self.way == "persona" else "poll"
        if group.country:
            country = self.language.country(group.name)
            return self.language.prompt(f"{start}_country").fill(country=country)
        name = "poll_persona" if self.way == "persona" else "poll_group"
        return self.language.prompt(name).fill(group=group.name)


def read_option(reply: Reply, options: Sequence[str]) -> Chosen:
    """Read the letter of the option that a reply chooses by letter, words, or both ("B. Coffee"); else None with a reason.

    >>> read_option(Reply("b."), ["Tea", "Coffee"]), read_option(Reply("Tea or coffee"), ["Tea", "Coffee"]).reason
    (Chosen(answer='B', reason=None), 'several_answers')
    """
    if reply.text is None:
        return Chosen(None, reply.failure.name if reply.failure else "empty")
    letters = LETTERS[: len(options)]
    return read_choice(reply.text, letters, dict(zip(options, letters, strict=True)))
