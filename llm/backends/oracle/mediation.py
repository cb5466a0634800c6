"""What is written in a private deliberation: opinions and critiques (a representative's too), statements, rankings.

All of it follows from the law of positions.py and the phrases of the bank. A draft takes the side of the majority and names the
values that most members name. A revision moves toward those who object, and adds the values and demands that they miss.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from parley.llm.backends.oracle.dynamics import Speaker, dither
from parley.llm.backends.oracle.people_laws import MediationLaw
from parley.llm.backends.oracle.phrases import Banks, unknown_sentence
from parley.llm.backends.oracle.positions import (
    HIGH,
    LOW,
    MIDDLE,
    Habit,
    Read,
    agreement,
    clip,
    general_position,
    habit,
    position_now,
    read,
    shown,
)
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import fitted, too_few_words
from parley.llm.request import Reply
from parley.llm.seeding import digest, stream

CRITIQUE_WORDS, STATEMENT_WORDS = 75, 100
Parts = list[tuple[int, str]]
"""Sentences, each with its rank: the lowest matters most (`fitted`)."""


def answer_contribution(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a participant's opinion on the question, or with its critique of the mediator's last statement."""
    issue, heard = reading.facts["issue"], reading.heard
    position, person_habit = position_now(reading, speaker), habit(reading.banks, reading.persona)
    rng = stream(reading.seed, reading.persona, issue, len(heard))
    if reading.facts.get("form") != "critique":
        parts = opinion_parts(reading.banks, position, person_habit, None if reading.greedy else rng.random(), rng)
    else:
        statement = read(reading.banks, heard[-1][1], issue) if heard else Read()
        if statement.stance is None:
            return unknown_sentence(heard[-1][1] if heard else "no statement")
        parts = critique(reading.banks, person_habit, statement.stance - position, statement, rng)
    text = fitted(parts, reading.words)
    return Reply(text) if text else too_few_words(reading)


def opinion_parts(banks: Banks, position: float, person_habit: Habit, draw: float | None, rng: random.Random) -> Parts:
    """Return opener and stance, a reason for each value, the demand, the closer. draw: of the point that is said (`dither`)."""
    words = banks.deliberation
    level = dither(position, 1, draw)
    stance = rng.choice(words["said"]["own"]).format(stance=words["stances"][str(level)])
    side = "yes" if position > MIDDLE else "no"
    reasons = [(3, rng.choice(words["values"][value][side])) for value in person_habit.values]
    demand = rng.choice(words["demands"]["asked"]).format(demand=person_habit.demand)
    ends = [
        *([(1, demand)] if person_habit.demand else []),
        *([(2, person_habit.closer)] if person_habit.closer else []),
    ]
    return [(0, f"{person_habit.opener} {stance}.".strip()), *reasons, *ends]


def critique(banks: Banks, person_habit: Habit, apart: float, statement: Read, rng: random.Random) -> Parts:
    """Return opener and verdict, what is said of each value and of the demand, the closer. `apart`: statement minus position."""
    words = banks.deliberation
    kind = verdict(banks, apart)
    if kind != "right" and abs(apart) > banks.law("far"):
        kind = f"far_{kind}"
    parts = [(0, f"{person_habit.opener} {rng.choice(words['verdicts'][kind])}.".strip())]
    for value in person_habit.values:
        concern = rng.choice(words["concerns"]["met" if value in statement.values else "missed"])
        parts.append((3, concern.format(value=words["values"][value]["name"])))
    demand = rng.choice(words["demands"]["met" if person_habit.demand in statement.demands else "missed"])
    if person_habit.demand:
        parts.append((1, demand.format(demand=person_habit.demand)))
    return [*parts, (2, person_habit.closer)] if person_habit.closer else parts


def verdict(banks: Banks, apart: float) -> str:
    """Return what a statement is, by its distance from a position: right, or too much of a yes or a no."""
    return "right" if abs(apart) <= banks.law("near") else "yes" if apart > 0 else "no"


def answer_critique(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a representative's critique of a draft, from what the participant's texts show.

    Position, values, demand and habits are those of the opinion; habits that it does not show are those of the other texts.
    """
    facts = reading.facts
    opinion, draft, issue = facts.get("opinion", ""), facts.get("statement", ""), facts.get("issue", "")
    position, statement = read(reading.banks, opinion, issue).stance, read(reading.banks, draft, issue)
    if position is None or statement.stance is None:
        return unknown_sentence(opinion if position is None else draft)
    person_habit = habits(reading.banks, [opinion, *facts.get("earlier", ())])
    parts = critique(
        reading.banks, person_habit, statement.stance - position, statement, stream(reading.seed, opinion, draft)
    )
    return Reply(fitted(parts, CRITIQUE_WORDS))


def habits(banks: Banks, texts: list[str]) -> Habit:
    """Return the habits in texts of one person, each from the first text that shows it; the values are those of the first."""
    shown_habits = [shown(banks, text) for text in texts]
    opener, demand, closer = (next(filter(None, column), "") for column in list(zip(*shown_habits, strict=True))[:3])
    return Habit(opener, demand, closer, shown_habits[0].values)


def answer_statement(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the mediator's draft, made of the opinions, or its revision, made of the last statement and the critiques."""
    facts = reading.facts
    if "issue" not in facts:
        return _statement_on_topic(reading)
    issue = facts.get("issue", "")
    opinions = [read(reading.banks, opinion, issue) for opinion in facts.get("opinions", ())]
    stances = [opinion.stance for opinion in opinions if opinion.stance is not None]
    if not stances:
        return Reply.failed("no_known_sentence", "no opinion could be read")
    rng = stream(reading.seed, reading.last)
    last = read(reading.banks, facts["statement"], issue) if "statement" in facts else Read()
    demands: tuple[str, ...] = ()
    if last.stance is None:
        law, groups = speaker.laws.mediation, facts.get("groups", ())
        if len(groups) > 1 and law.majority is None:
            stance, values = _common(reading.banks, groups, issue)
        else:
            stance, count = (
                drafted_stance(stances, law),
                0 if law.majority is not None else int(reading.banks.law("drafted")),
            )
            values = _most_named([opinion.values for opinion in opinions], count)
    else:
        stance, values, demands = _revised(reading.banks, last.stance, last, facts.get("critiques", ()))
    divided = len(facts.get("groups", ())) > 1
    drawn = None if reading.greedy else rng.random()
    if apart := speaker.laws.mediation.apart:
        stance = min(max(stance + apart * (2 * rng.random() - 1), LOW), HIGH)
    level = dither(stance, 1, drawn)
    parts = _statement(reading.banks, level, values, demands, rng)
    parts += [(3, reading.banks.words("divides"))] if divided else []
    text = fitted(parts, facts.get("words", STATEMENT_WORDS))
    return Reply(text) if text else too_few_words(reading)


def _statement_on_topic(reading: Reading) -> Reply:
    """Answer with a sentence on a topic of debates: its grade is the mean of the opinions, or of last statement and critiques."""
    bank, facts = reading.banks.topics.get(reading.topic or ""), reading.facts
    texts = [facts["statement"], *facts.get("critiques", ())] if "statement" in facts else facts.get("opinions", ())
    grades = [grade for text in texts if bank and (grade := bank.grade(text)) is not None]
    if bank is None or not grades:
        return Reply.failed("no_known_sentence", "no opinion could be read")
    rng = stream(reading.seed, reading.last)
    level = dither(fmean(grades), 2, None if reading.greedy else rng.random())
    return Reply(rng.choice(rng.choice(bank.by_grade[level])))


def _common(banks: Banks, groups: Sequence[Sequence[str]], issue: str) -> tuple[float, tuple[str, ...]]:
    """Return what unites groups of opinion: the middle between the outermost groups' mean stances, and values named in each."""
    members = [[read(banks, opinion, issue) for opinion in group] for group in groups]
    stances = [[opinion.stance for opinion in group if opinion.stance is not None] for group in members]
    means = [sum(group) / len(group) for group in stances if group]
    named = [frozenset[str]().union(*(opinion.values for opinion in group)) for group in members]
    values = _most_named([opinion.values for group in members for opinion in group], int(banks.law("revised")))
    shared = [value for value in values if all(value in group for group in named)]
    return (min(means) + max(means)) / 2, tuple(shared[: int(banks.law("drafted"))])


def drafted_stance(stances: Sequence[float], law: MediationLaw) -> float:
    """Return the stance of a draft under a law, from the stances of the opinions in the order in which they are read.

    >>> drafted_stance([2.0, 7.0, 6.0], MediationLaw(majority=0.0)), drafted_stance([2.0, 7.0, 6.0], MediationLaw(majority=1.0))
    (4.25, 6.5)
    >>> drafted_stance([2.0, 7.0, 6.0], MediationLaw(majority=0.0, primacy=0.2))
    3.8
    """
    stance = majority_stance(stances)
    if law.majority is not None:
        sides = [[stance for stance in stances if (stance - MIDDLE) * sign > 0] for sign in (1, -1)]
        large, small = (sum(side) / len(side) if side else MIDDLE for side in sorted(sides, key=len, reverse=True))
        stance = (large + small + law.majority * (large - small)) / 2 if all(sides) else sum(stances) / len(stances)
    return stance + law.primacy * (stances[0] - stance)


def majority_stance(stances: Sequence[float]) -> float:
    """Return the stance of a draft: halfway between the mean of all and the mean of the larger side.

    >>> majority_stance([7.0, 6.0, 2.0])
    5.75
    """
    ahead = sum((stance > MIDDLE) - (stance < MIDDLE) for stance in stances)
    majority = [stance for stance in stances if (stance - MIDDLE) * ahead > 0] or list(stances)
    return (sum(stances) / len(stances) + sum(majority) / len(majority)) / 2


def _revised(
    banks: Banks, stance: float, last: Read, critiques: Sequence[str]
) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    """Return the stance, values and demands of a revision."""
    names = {value: entry["name"] for value, entry in banks.deliberation["values"].items()}
    things = {thing: thing for thing in banks.deliberation["demands"]["things"]}
    moved = stance + banks.law("response") * sum(_objection(banks, critique) for critique in critiques) / max(
        len(critiques), 1
    )
    missed = _most_named([_missed(banks, critique, "concerns", names) for critique in critiques], len(names))
    values = (*sorted(last.values), *(value for value in missed if value not in last.values))
    demanded = _most_named(
        [_missed(banks, critique, "demands", things) for critique in critiques], int(banks.law("granted"))
    )
    return min(max(moved, LOW), HIGH), values[: int(banks.law("revised"))], (*sorted(last.demands), *demanded)


def _objection(banks: Banks, critique: str) -> float:
    """Return -1 or -0.5 where the statement was too much of a yes, +1 or +0.5 where it was too much of a no, else 0."""
    words = banks.pattern("objection").search(critique)
    return 0.0 if not words else (1.0 if words[1] else 0.5) * (-1 if words[2] == banks.words("objects_to_yes") else 1)


def _missed(banks: Banks, critique: str, kind: str, things: dict[str, str]) -> list[str]:
    """Return the values or demands that a critique misses in the statement."""
    forms = banks.deliberation[kind]["missed"]
    return [
        name
        for name, words in things.items()
        if any(form.format(value=words, demand=words) in critique for form in forms)
    ]


def _most_named(named: Iterable[Iterable[str]], count: int) -> tuple[str, ...]:
    """Return what most members name; of equals the one named first."""
    return tuple(name for name, _ in Counter(name for names in named for name in sorted(names)).most_common(count))


def _statement(banks: Banks, level: int, values: Sequence[str], demands: Sequence[str], rng: random.Random) -> Parts:
    words = banks.deliberation
    stance = rng.choice(words["said"]["group"]).format(stance=words["stances"][str(level)])
    parts = [(0, f"{stance[0].upper()}{stance[1:]}.")]
    if values:
        names = listed([words["values"][value]["name"] for value in values], banks.words("and"))
        parts.append((1, rng.choice(words["concerns"]["named"]).format(values=names)))
    if demands:
        parts.append((2, rng.choice(words["demands"]["granted"]).format(demands=listed(demands, banks.words("and")))))
    return parts


def listed(parts: Sequence[str], and_: str) -> str:
    """Return `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {and_} {parts[-1]}"


def answer_ranking(reading: Reading, speaker: Speaker) -> Reply:
    """Rank the candidates by the agreement that the planted law gives for the member's texts; ties are broken by lot."""
    scores = scores_by_texts(reading)
    predicted = reading.request.purpose == "ranking" and None not in scores.values()
    if predicted and stream(reading.request.seed, "guess").random() < speaker.laws.mediation.guesses:
        scores = dict.fromkeys(scores, 0.0)  # all are tied, and ties are broken by lot
    return _ranking(reading, scores)


def scores_by_texts(reading: Reading) -> dict[str, float | None]:
    """Return the agreement with each candidate, by its letter, that the planted law gives for the member's texts."""
    facts = reading.facts
    issue, texts = facts.get("issue", ""), [facts.get("opinion", ""), *facts.get("critiques", ())]
    member = read(reading.banks, " ".join(filter(None, texts)), issue)
    values, demand = sorted(member.values), next(iter(sorted(member.demands)), None)
    return {
        chr(ord("A") + place): None
        if member.stance is None
        else agreement(reading.banks, member.stance, values, demand, read(reading.banks, text, issue))
        for place, text in enumerate(facts.get("candidates", ()))
    }


def answer_ballot(reading: Reading, speaker: Speaker) -> Reply:
    """Rank the candidates by one's own agreement, from the known position; equal ones are tied."""
    issue, person_habit = reading.facts["issue"], habit(reading.banks, reading.persona)
    position = position_now(reading, speaker)
    scores = {
        chr(ord("A") + place): agreement(
            reading.banks, position, person_habit.values, person_habit.demand or None, read(reading.banks, text, issue)
        )
        for place, text in enumerate(reading.facts.get("candidates", ()))
    }
    return tied_ballot(scores)


def tied_ballot(scores: Mapping[str, float | None]) -> Reply:
    """Return the order of scores, equal ones tied; a failure where one is unknown."""
    if not scores or None in scores.values():
        return Reply.failed("no_known_sentence", "the opinion or a statement could not be read")
    groups: dict[float, list[str]] = {}
    for name, score in scores.items():
        groups.setdefault(score or 0.0, []).append(name)
    return Reply(" > ".join(" = ".join(groups[score]) for score in sorted(groups, reverse=True)))


def _ranking(reading: Reading, scores: dict[str, float | None]) -> Reply:
    """Return the strict order of scores; ties are broken by lot."""
    if not scores or None in scores.values():
        return Reply.failed("no_known_sentence", "the opinion or a statement could not be read")
    order = sorted(scores, key=lambda name: (-(scores[name] or 0.0), digest("lot", reading.request.seed, name)))
    return Reply(" > ".join(order))


def answer_represented_opinion(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the opinion that a person would write, by its texts and positions on other questions.

    Values, demand and habits are those of the texts. The position is what people think on average, moved by the part of the
    person's other positions that is planted to be the same on all questions.
    """
    facts, seed = reading.facts, reading.request.seed
    position, person_habit = (
        _expected_position(reading, speaker),
        habits(reading.banks, [*facts.get("earlier", ()), ""]),
    )
    rng = stream(seed, facts.get("issue", ""), *facts.get("earlier", ()))
    if _is_blind(speaker, seed):
        position, person_habit = rng.uniform(LOW, HIGH), habit(reading.banks, f"any person {seed}")
    text = fitted(opinion_parts(reading.banks, position, person_habit, rng.random(), rng), reading.words)
    return Reply(text) if text else too_few_words(reading)


def answer_represented_ballot(reading: Reading, speaker: Speaker) -> Reply:
    """Rank statements by the agreement that the planted law gives for the person's texts; equal ones are tied."""
    scores, seed = scores_by_texts(reading), reading.request.seed
    if _is_blind(speaker, seed) and None not in scores.values():
        drawn = random.Random(seed)
        scores = {name: drawn.random() for name in scores}
    return tied_ballot(scores)


def _is_blind(speaker: Speaker, seed: int) -> bool:
    return stream(seed, "blind").random() < speaker.laws.representation.blind


def _expected_position(reading: Reading, speaker: Speaker) -> float:
    """Return the position to expect: by each other question once, of a stated position before that of an opinion."""
    banks, facts = reading.banks, reading.facts
    positions = {question: read(banks, text, question).stance for question, text in facts.get("stated", ())}
    positions |= dict(facts.get("rated", ()))
    moves = [value - general_position(banks, question) for question, value in positions.items() if value is not None]
    leaning = speaker.laws.representation.leaning
    return clip(general_position(banks, facts.get("issue", "")) + (leaning * fmean(moves) if moves else 0.0))
