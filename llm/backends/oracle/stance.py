"""Where the speaker stands in whatever it takes part in, a debate on a topic that it knows or a private deliberation.

All on one measure: 0 at the low end of the axis (of the topic, or a firm no), 1 at the high end.

What an agent writes for itself: notes before it speaks, what it concludes, how much a line matters; and summaries.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from parley.llm.backends.oracle.dynamics import HIGH, LOW, bank, dither, now, read, statements
from parley.llm.backends.oracle.phrases import topics
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle


LOST = 0.3
"""The gap beyond which it disagrees."""


class Standing(NamedTuple):
    """`share` is where it stands, `line` the sentence that says it, `unread` counts lines not understood."""

    share: float
    line: str
    unread: int

    @property
    def conviction(self) -> float:
        """How far from the middle: 0.5 there, 1 at either end."""
        return max(self.share, 1 - self.share)

    @property
    def notes(self) -> dict[str, int]:
        return {"unread": self.unread} if self.unread else {}


def standing(reading: Reading, oracle: Oracle) -> Standing | None:
    """Its own, by the planted law; None where the conversation is about nothing that it knows."""
    issue = reading.facts.get("issue")
    if issue is not None:
        share = (now(reading.persona, issue, statements(reading), oracle.pull) - LOW) / (HIGH - LOW)
        return Standing(share, said_line(reading, share), 0)
    if reading.topic is None:
        return None
    value, unread = oracle.attitude(reading)
    return Standing(value / 10, said_line(reading, value / 10), unread)


def said_line(reading: Reading, share: float) -> str:
    """The sentence that says where somebody stands, to the nearest point that has a word."""
    if "issue" in reading.facts:
        stance = bank()["stances"][str(dither(LOW + share * (HIGH - LOW), 1, None))]
        line = bank()["said"]["own"][0].format(stance=stance)
        return f"{line[0].upper()}{line[1:]}."
    return topics()[reading.topic or ""].stance_sentence(dither(10 * share, 1, None))


def share_of(reading: Reading, text: str) -> float | None:
    """Where a text stands; None when nothing in it is known."""
    issue = reading.facts.get("issue")
    if issue is not None:
        stance = read(text, issue).stance
        return None if stance is None else (stance - LOW) / (HIGH - LOW)
    grade = topics()[reading.topic].grade(text) if reading.topic else None
    return None if grade is None else grade / 10


def apart(reading: Reading, oracle: Oracle) -> float | None:
    """How far from where it stands what was heard last is, 0 to 1; None when nothing was heard, or nothing that could be read."""
    own, other = standing(reading, oracle), share_of(reading, reading.heard[-1][1]) if reading.heard else None
    return None if own is None or other is None else abs(own.share - other)


def unknown(reading: Reading) -> Reply:
    """The named failure of a question about nothing that it knows."""
    return Reply.failed("unknown_ask", reading.ask[:120])


def too_few_words(reading: Reading) -> Reply:
    """The named failure of a length in which nothing can be said."""
    return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")


def fitted(parts: list[tuple[int, str]], words: int) -> str:
    """The sentences that fit into the words asked for, what matters most first, in their own order; "" when none does."""
    room, kept = words, set[int]()
    for _, place in sorted((rank, place) for place, (rank, _) in enumerate(parts)):
        length = len(parts[place][1].split())
        if length <= room:
            kept.add(place)
            room -= length
        elif not kept:
            return ""
    return " ".join(text for place, (_, text) in enumerate(parts) if place in kept)


FIRM = 0.75
"""The conviction from which on it wants to win the others over: an attitude of 2.5 or less, or 7.5 or more."""


def answer_bdi(reading: Reading, oracle: Oracle) -> Reply:
    """Belief, desire and intention: the stance, what is wanted by how firm it is, what is intended by what was heard last."""
    own = standing(reading, oracle)
    if own is None:
        return unknown(reading)
    desire = "the others to see it as I do" if own.conviction >= FIRM else "to learn what the others know"
    text = f"Belief: {own.line}\nDesire: I want {desire}.\nIntention: {_intention(reading, oracle)}"
    return Reply(text, notes=own.notes)


def answer_latent(reading: Reading, oracle: Oracle) -> Reply:
    """Stance and feeling: calm, or angry when what was heard last is far off."""
    own, gap = standing(reading, oracle), apart(reading, oracle)
    if own is None:
        return unknown(reading)
    feeling = "angry" if gap is not None and gap > LOST else "calm"
    return Reply(f"Stance: {own.line}\nFeeling: I feel {feeling}.", notes=own.notes)


def answer_bounded(reading: Reading, oracle: Oracle) -> Reply:
    """The stance and the intention, as far as they fit into a few words."""
    own = standing(reading, oracle)
    if own is None:
        return unknown(reading)
    text = fitted([(0, own.line), (1, _intention(reading, oracle))], reading.words)
    return Reply(text, notes=own.notes) if text else too_few_words(reading)


def _intention(reading: Reading, oracle: Oracle) -> str:
    """To say where it stands when nothing was heard, else to agree or to disagree with who spoke last."""
    gap = apart(reading, oracle)
    if gap is None:
        return "I will say where I stand."
    return f"I will {'disagree with' if gap > LOST else 'agree with'} {reading.heard[-1][0]}."


def answer_importance(reading: Reading, oracle: Oracle) -> Reply:
    """The lowest point for a line that says what the speaker thinks itself, the highest for the other end of the axis."""
    scale, line = reading.facts.get("scale"), reading.facts.get("line", "")
    own, said = standing(reading, oracle), share_of(reading, line)
    if own is None or scale is None:
        return unknown(reading)
    if said is None:
        return Reply.failed("no_known_sentence", line[:120])
    return Reply(str(round(scale.low + abs(own.share - said) * (scale.high - scale.low))))


def answer_reflection(reading: Reading, oracle: Oracle) -> Reply:
    """A line for each who spoke: where they stand by the mean of what they said."""
    means = _means(reading, lambda text: share_of(reading, text))[: reading.facts.get("count")]
    if not means:
        return Reply.failed("nothing_to_conclude", "no line could be read")
    lines = [f"By what {name} says: {said_line(reading, mean)}" for name, mean in means]
    return Reply("\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))


def answer_summary(reading: Reading, oracle: Oracle) -> Reply:
    """A line for each speaker, in a sentence of the mean grade of what they said."""
    if reading.topic is None:
        return unknown(reading)
    bank, rng = topics()[reading.topic], random.Random(derive(reading.request.seed, reading.heard))
    means = _means(reading, bank.grade)
    if not means:
        return Reply.failed("nothing_to_summarise", "no line could be read")
    return Reply(
        "\n".join(f"{name}: {rng.choice(rng.choice(bank.by_grade[dither(mean, 2, None)]))}" for name, mean in means)
    )


def _means(reading: Reading, measure: Callable[[str], float | None]) -> list[tuple[str, float]]:
    """By speaker, in the order in which they spoke, the mean measure of the lines that have one."""
    said: dict[str, list[float]] = defaultdict(list)
    for name, text in reading.heard:
        value = measure(text)
        if value is not None:
            said[name].append(value)
    return [(name, sum(values) / len(values)) for name, values in said.items()]
