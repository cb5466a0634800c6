"""The probability of whole answers, from the probabilities of the next token at places that are forced.

A model is given its prompt and the beginning of a reply, and says how probable each token is as the next one. The answers of a
closed question form a tree by what they have in common at their beginning, so a few such lookups give the probability of each
whole answer, whatever the tokenizer makes of it: where "10" is two tokens, P(10) = P(1) P(0 after 1), and "1" does not take what
belongs to "10".

The tree knows no engine. `answer_lookups` is a generator: it yields the texts to look up, all that can be looked up at the same
time, and is sent a table of next tokens for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Tokens = Mapping[str, float]
"""The text of a token and its probability as the next one; "" is the end of the reply. They may be the likeliest tokens alone."""
LEAST = 1e-3
"""A branch is not followed whose probability is less than this share of that of all answers together."""
BYWAY = 0.02
"""Neither is one that spells what a likelier token spells as well, with less than this share of its probability: " n", "ot"."""
LONGEST_LEAD, LEAST_LEAD = 4, 0.01
"""Characters of spaces, quotes and bold marks that may precede an answer, and the least probability of such a lead."""
AROUND, CLOSING = " \t\n\"'`*_([“‘„«", " \"'`*_]”’“»"
"""Signs that may precede an answer, and follow one before its end."""
ENDS = (".", "\n", ")", ":")
"""Signs behind which an answer is over, where it has to be the whole reply."""


class AnswerShares(NamedTuple):
    """The probability of each answer, in their order (not scaled: together at most 1).

    unseen   the most by which they may be wrong together: the probability of branches that were not followed, and of tokens
             that a table does not list
    lookups  the number of tables of next tokens that were needed
    """

    shares: list[float]
    unseen: float
    lookups: int


Lookups = Generator[list[str], Sequence[Tokens], AnswerShares]


def answer_lookups(answers: Sequence[str], prefix: str = "", ended: bool = False) -> Lookups:
    """Yield texts to look up behind the prompt, take a table of next tokens for each, and return the probability of each answer.

    Parameters
    ----------
    answers : sequence of str
        The allowed answers, all different.
    prefix : str
        How the reply begins before the answer ("I think it is a "). A space at its end belongs to the answer: the texts to
        look up end with a word, because tokens begin with the space.
    ended : bool
        Whether an answer counts only where the reply ends behind it, or a sign of ENDS follows, such as a full stop. This
        takes one more lookup for each answer. Behind a begun sentence answers need not end the reply.

    Examples
    --------
    >>> tables = {"": {"1": 0.6, "2": 0.3, "No": 0.1}, "1": {"0": 0.5, ".": 0.5}}
    >>> lookups = answer_lookups(["1", "2", "10"])
    >>> next(lookups)
    ['']
    >>> lookups.send([tables[""]])
    ['1']
    """
    tree = _Answers(answers, ended)
    branches: dict[str, _Branches] = {}
    while True:
        texts, shares, unseen = _spread(tree, branches)
        if not (wanted := _wanted(tree, texts, branches, sum(shares))):
            return AnswerShares(shares, unseen, len(branches))
        tables = yield [prefix.rstrip() + text.spelling for text in wanted.values()]
        for (name, text), table in zip(wanted.items(), tables, strict=True):
            branches[name] = tree.branches(name, text.spelling, table)


@dataclass
class _Text:
    """A text behind the prefix. mass: the probability that the reply begins so; spelling: its likeliest form (" not", "Not")."""

    spelling: str
    mass: float = 0.0
    heaviest: float = 0.0

    def add(self, spelling: str, mass: float) -> None:
        """Add the mass of one way to this text."""
        self.mass += mass
        if mass > self.heaviest:
            self.spelling, self.heaviest = spelling, mass


class _Branches(NamedTuple):
    """Where the tokens behind a text lead: to longer texts (name, spelling, share), or to answers (share by place)."""

    longer: list[tuple[str, str, float]]
    complete: dict[int, float]
    unlisted: float


class _Answers:
    """The allowed answers. Upper and lower case are the same but for answers of one letter: "a" begins many sentences."""

    def __init__(self, answers: Sequence[str], ended: bool):
        bare = [answer.strip() for answer in answers]
        self.names, self.ended = [answer if len(answer) == 1 else answer.lower() for answer in bare], ended

    def read(self, spelling: str) -> str:
        """Return the text of which this is a spelling, as answers are written; a mere lead (a space, a quote) stays as it is."""
        bare = spelling.lstrip(AROUND)
        letter = bare[:1] in self.names and not bare[1:2].isalnum()
        return (bare[:1] + bare[1:].lower() if letter else bare.lower()) or spelling

    def longer(self, name: str) -> list[int]:
        """Return the places of the answers that have this beginning and are longer."""
        if _is_lead(name):
            return list(range(len(self.names))) if len(name) <= LONGEST_LEAD else []
        return [place for place, answer in enumerate(self.names) if len(answer) > len(name) and answer.startswith(name)]

    def complete(self, name: str) -> int | None:
        """Return the place of the longest answer with which a text begins, if its last word goes no further; None for none."""
        begun = [place for place, answer in enumerate(self.names) if name.startswith(answer)]
        place = max(begun, key=lambda place: len(self.names[place]), default=None)
        if place is None:
            return None
        answer, rest = self.names[place], name[len(self.names[place]) :]
        return None if answer[-1:].isalnum() and rest[:1].isalnum() else place

    def is_open(self, name: str) -> bool:
        """Is it undecided whether a reply with this beginning is an answer, and which?"""
        return bool(self.longer(name)) or (self.ended and name in self.names)

    def branches(self, name: str, spelling: str, table: Tokens) -> _Branches:
        """Return where the tokens behind a text lead."""
        here = self.names.index(name) if name in self.names else None
        start = 0 if _is_lead(name) else len(name)
        signs = {*AROUND, *(self.names[place][start : start + 1].lower() for place in self.longer(name))}
        branches = _Branches([], defaultdict(float), max(0.0, 1.0 - sum(table.values())))
        for token, share in table.items():
            if here is None and token[:1].lower() not in signs:
                continue
            text = self.read(spelling + token)
            if token and (self.longer(text) or text in self.names):
                branches.longer.append((text, spelling + token, share))
            elif (place := self.complete(text)) is not None and self._is_over(text[len(self.names[place]) :]):
                branches.complete[place] += share
        if here is not None and not self.ended:
            branches.complete[here] += branches.unlisted
        return branches

    def _is_over(self, rest: str) -> bool:
        return not (self.ended and rest) or rest.lstrip(CLOSING).startswith(ENDS)


def _is_lead(name: str) -> bool:
    return not name.strip(AROUND)


def _spread(tree: _Answers, branches: Mapping[str, _Branches]) -> tuple[dict[str, _Text], list[float], float]:
    """Return all texts that are reached, the shares of the answers, and what may be missing from them.

    Shorter texts come first, so that a text has all of its mass before it is spread: " not" may also be " n" and "ot".
    """
    texts, shares, unseen = {"": _Text("", 1.0)}, [0.0] * len(tree.names), 0.0
    spread: set[str] = set()
    while left := texts.keys() - spread:
        name = min(left, key=lambda name: (not _is_lead(name), len(name), name))
        spread.add(name)
        mass = texts[name].mass
        if behind := branches.get(name):
            for text, spelling, share in behind.longer:
                texts.setdefault(text, _Text(spelling)).add(spelling, mass * share)
            for place, share in behind.complete.items():
                shares[place] += mass * share
            unseen += mass * behind.unlisted
        elif tree.is_open(name):
            unseen += mass
        else:
            shares[tree.names.index(name)] += mass
    return texts, shares, unseen


def _wanted(
    tree: _Answers, texts: Mapping[str, _Text], branches: Mapping[str, _Branches], settled: float
) -> dict[str, _Text]:
    """Return the texts whose next tokens matter for the shares."""
    undecided = {name: text for name, text in texts.items() if name not in branches and tree.is_open(name)}
    least = LEAST * (settled + sum(text.mass for text in undecided.values()))

    def matters(name: str, text: _Text) -> bool:
        return text.mass > (max(least, LEAST_LEAD) if _is_lead(name) else least) and not _is_byway(tree, name, texts)

    return {name: text for name, text in undecided.items() if matters(name, text)}


def _is_byway(tree: _Answers, name: str, texts: Mapping[str, _Text]) -> bool:
    """Is every answer behind a text reached by far likelier tokens?"""
    if _is_lead(name) or name in tree.names:
        return False
    further = [
        other for other, text in texts.items() if len(other) > len(name) and texts[name].mass < BYWAY * text.mass
    ]
    return all(any(tree.names[place].startswith(other) for other in further) for place in tree.longer(name))
