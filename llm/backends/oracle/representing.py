"""Opinions and ballots of representatives, from what the texts of a person show, by the law of representation_law.py."""

from __future__ import annotations

import random
from statistics import fmean

from parley.llm.backends.oracle.dynamics import HIGH, LOW, Speaker, clip, general_position, habit, read
from parley.llm.backends.oracle.mediation import habits, opinion_parts, scores_by_texts, tied_ballot
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import fitted, too_few_words
from parley.llm.request import Reply
from parley.llm.seeding import stream


def answer_represented_opinion(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the opinion that a person would write, by its texts and positions on other questions.

    Values, demand and habits are those of the texts. The position is what people think on average, moved by the part of the
    person's other positions that is planted to be the same on all questions.
    """
    facts, seed = reading.facts, reading.request.seed
    position, own = _expected_position(reading, speaker), habits(reading.banks, [*facts.get("earlier", ()), ""])
    rng = stream(seed, facts.get("issue", ""), *facts.get("earlier", ()))
    if _is_blind(speaker, seed):
        position, own = rng.uniform(LOW, HIGH), habit(reading.banks, f"any person {seed}")
    text = fitted(opinion_parts(reading.banks, position, own, rng.random(), rng), reading.words)
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
    known = {question: read(banks, text, question).stance for question, text in facts.get("stated", ())}
    known |= dict(facts.get("rated", ()))
    moves = [value - general_position(banks, question) for question, value in known.items() if value is not None]
    leaning = speaker.laws.representation.leaning
    return clip(general_position(banks, facts.get("issue", "")) + (leaning * fmean(moves) if moves else 0.0))
