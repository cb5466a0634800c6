"""What is written in a private deliberation: opinions and critiques (a representative's too), statements, rankings.

All of it follows from the law of deliberation.py and the phrases of the bank. A draft states the side of the majority and the
values that most members name. A revision moves toward those who object, and takes up the values and demands that are missed.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.dynamics import (
    HIGH,
    LOW,
    MIDDLE,
    Habit,
    Read,
    agreement,
    bank,
    dither,
    habit,
    law,
    now,
    read,
    shown,
    statements,
)
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import fitted, too_few_words
from parley.llm.request import Reply
from parley.llm.seeding import derive, digest

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

CRITIQUE_WORDS, STATEMENT_WORDS = 75, 100


def answer_contribution(reading: Reading, oracle: Oracle) -> Reply:
    """A participant's opinion on the question, or its critique of the mediator's last statement."""
    issue, heard = reading.facts["issue"], statements(reading)
    stands = now(reading.persona, issue, heard, oracle.pull)
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, issue, len(heard)))
    if reading.facts.get("form") != "critique":
        parts = _opinion(reading, stands, rng)
    else:
        said = read(heard[-1], issue) if heard else Read(None, frozenset(), frozenset())
        if said.stance is None:
            return Reply.failed("no_known_sentence", heard[-1][:120] if heard else "no statement")
        parts = critique(habit(reading.persona), said.stance - stands, said, rng)
    text = fitted(parts, reading.words)
    return Reply(text) if text else too_few_words(reading)


def _opinion(reading: Reading, stands: float, rng: random.Random) -> list[tuple[int, str]]:
    """Opener and stance, a reason for each value, the demand, the closer: each with how much it matters (lowest first)."""
    own, words = habit(reading.persona), bank()
    level = dither(stands, 1, None if reading.greedy else rng.random())
    stance = rng.choice(words["said"]["own"]).format(stance=words["stances"][str(level)])
    side = "yes" if stands > MIDDLE else "no"
    reasons = [rng.choice(words["values"][value][side]) for value in own.values]
    demand = rng.choice(words["demands"]["asked"]).format(demand=own.demand)
    return [(0, f"{own.opener} {stance}."), *[(3, reason) for reason in reasons], (1, demand), (2, own.closer)]


def critique(own: Habit, apart: float, said: Read, rng: random.Random) -> list[tuple[int, str]]:
    """Opener and verdict, what is said of each value and of the demand, the closer. `apart`: statement minus position."""
    words = bank()
    side = "yes" if apart > 0 else "no"
    kind = "right" if abs(apart) <= law("near") else f"far_{side}" if abs(apart) > law("far") else side
    lines = [(0, f"{own.opener} {rng.choice(words['verdicts'][kind])}.".strip())]
    for value in own.values:
        concern = rng.choice(words["concerns"]["met" if value in said.values else "missed"])
        lines.append((3, concern.format(value=words["values"][value]["name"])))
    demand = rng.choice(words["demands"]["met" if own.demand in said.demands else "missed"])
    asked = [(1, demand.format(demand=own.demand))] if own.demand else []
    return [*lines, *asked, *([(2, own.closer)] if own.closer else [])]


def answer_critique(reading: Reading, oracle: Oracle) -> Reply:
    """A representative's critique of a draft, from what the participant's texts show.

    Position, values, demand and habits are those of the opinion; habits that it does not show, those of the other texts.
    """
    facts = reading.facts
    opinion, draft, issue = facts.get("opinion", ""), facts.get("statement", ""), facts.get("issue", "")
    stands, said = read(opinion, issue).stance, read(draft, issue)
    if stands is None or said.stance is None:
        return Reply.failed("no_known_sentence", (opinion if stands is None else draft)[:120])
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, opinion, draft))
    own = habits([opinion, *facts.get("earlier", ())])
    return Reply(fitted(critique(own, said.stance - stands, said, rng), CRITIQUE_WORDS))


def habits(texts: list[str]) -> Habit:
    """The habits that texts of one person show, each from the first that shows it; the values are those of the first."""
    every = [shown(text) for text in texts]
    opener, demand, closer = (
        next((getattr(one, name) for one in every if getattr(one, name)), "") for name in ("opener", "demand", "closer")
    )
    return Habit(opener, demand, closer, every[0].values)


def answer_statement(reading: Reading, oracle: Oracle) -> Reply:
    """The mediator's draft, made of the opinions, or its revision, made of its last statement and the critiques."""
    facts = reading.facts
    issue = facts.get("issue", "")
    opinions = [read(opinion, issue) for opinion in facts.get("opinions", ())]
    stances = [opinion.stance for opinion in opinions if opinion.stance is not None]
    if not stances:
        return Reply.failed("no_known_sentence", "no opinion could be read")
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.last))
    last = read(facts["statement"], issue) if "statement" in facts else Read(None, frozenset(), frozenset())
    demands: tuple[str, ...] = ()
    if last.stance is None:
        stance, values = majority_stance(stances), _most([one.values for one in opinions], int(law("drafted")))
    else:
        stance, values, demands = _revised(last.stance, last, facts.get("critiques", ()), rng)
    level = dither(stance, 1, None if reading.greedy else rng.random())
    said = fitted(_statement(level, values, demands, rng), facts.get("words", STATEMENT_WORDS))
    return Reply(said) if said else too_few_words(reading)


def majority_stance(stances: Sequence[float]) -> float:
    """Where a draft stands: halfway between the mean of all and the mean of the side that more are on.

    >>> majority_stance([7.0, 6.0, 2.0])
    5.75
    """
    ahead = sum((stance > MIDDLE) - (stance < MIDDLE) for stance in stances)
    most = [stance for stance in stances if (stance - MIDDLE) * ahead > 0] or list(stances)
    return (sum(stances) / len(stances) + sum(most) / len(most)) / 2


def _revised(
    stance: float, last: Read, critiques: Sequence[str], rng: random.Random
) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    """The stance, values and demands of a revision."""
    moves = [_objection(critique) for critique in critiques]
    moved = stance + law("response") * sum(moves) / max(len(moves), 1)
    missed = [_missed(critique, "concerns", names()) for critique in critiques]
    asked = [
        _missed(critique, "demands", {thing: thing for thing in bank()["demands"]["things"]}) for critique in critiques
    ]
    more = [value for value in _most(missed, len(names())) if value not in last.values]
    values = (*sorted(last.values), *more)[: int(law("revised"))]
    return min(max(moved, LOW), HIGH), values, (*sorted(last.demands), *_most(asked, int(law("granted"))))


def _objection(critique: str) -> float:
    """-1 or -0.5 where the statement was too much of a yes, +1 or +0.5 where it was too much of a no, else 0."""
    found = re.search(r"\b(far )?too much of a (yes|no)\b", critique)
    return 0.0 if not found else (1.0 if found[1] else 0.5) * (-1 if found[2] == "yes" else 1)


def _missed(critique: str, kind: str, things: dict[str, str]) -> list[str]:
    """The values or demands that a critique misses in the statement."""
    forms = bank()[kind]["missed"]
    return [
        name for name, told in things.items() if any(form.format(value=told, demand=told) in critique for form in forms)
    ]


def names() -> dict[str, str]:
    """What each value is called."""
    return {name: entry["name"] for name, entry in bank()["values"].items()}


def _most(named: Iterable[Iterable[str]], count: int) -> tuple[str, ...]:
    """Those that most members name; of equals the one named first in the order of what was read."""
    return tuple(name for name, _ in Counter(name for one in named for name in sorted(one)).most_common(count))


def _statement(level: int, values: Sequence[str], demands: Sequence[str], rng: random.Random) -> list[tuple[int, str]]:
    words = bank()
    stance = rng.choice(words["said"]["group"]).format(stance=words["stances"][str(level)])
    parts = [(0, f"{stance[0].upper()}{stance[1:]}.")]
    if values:
        told = listed([names()[value] for value in values])
        parts.append((1, rng.choice(words["concerns"]["named"]).format(values=told)))
    if demands:
        parts.append((2, rng.choice(words["demands"]["granted"]).format(demands=listed(demands))))
    return parts


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def answer_ranking(reading: Reading, oracle: Oracle) -> Reply:
    """The candidates by the agreement that the planted law gives for what can be read of the member; equals by lot."""
    facts = reading.facts
    issue, wrote = facts.get("issue", ""), [facts.get("opinion", ""), *facts.get("critiques", ())]
    member = read(" ".join(filter(None, wrote)), issue)
    candidates = {chr(ord("A") + place): read(text, issue) for place, text in enumerate(facts.get("candidates", ()))}
    values, demand = sorted(member.values), next(iter(sorted(member.demands)), None)
    scores = {
        name: agreement(member.stance, values, demand, said)
        for name, said in candidates.items()
        if member.stance is not None and said.stance is not None
    }
    if not scores or len(scores) < len(candidates):
        return Reply.failed("no_known_sentence", "the opinion or a statement could not be read")
    order = sorted(scores, key=lambda name: (-(scores[name] or 0.0), digest("lot", reading.request.seed, name)))
    return Reply(" > ".join(order))
