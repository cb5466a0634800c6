"""The speaker's position in a debate or a deliberation, and its private texts: notes, conclusions, summaries.

A stance is measured from 0, the low end of the axis (of the topic, or a firm no), to 1, the high end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker, dither
from parley.llm.backends.oracle.phrases import unknown_sentence
from parley.llm.backends.oracle.positions import HIGH, LOW, position_now, read
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.request import Reply
from parley.llm.seeding import stream

FAR = 0.3
"""The distance beyond which it disagrees."""
FIRM = 0.75
"""The conviction from which on it wants to convince the others: an attitude of 2.5 or less, or 7.5 or more."""


class Standing(NamedTuple):
    """`share` is the stance, `line` the sentence that says it, `unread` counts lines that could not be read."""

    share: float
    line: str
    unread: int

    @property
    def conviction(self) -> float:
        """The distance from the middle: 0.5 there, 1 at either end."""
        return max(self.share, 1 - self.share)

    @property
    def notes(self) -> dict[str, int]:
        return unread_notes(self.unread)


def unread_notes(unread: int) -> dict[str, int]:
    """Return the notes of a reply that was given without some lines."""
    return {"unread": unread} if unread else {}


def standing(reading: Reading, speaker: Speaker) -> Standing | None:
    """Return its own stance, by the planted law; None where the conversation is on no topic of the banks."""
    if "issue" in reading.facts:
        share, unread = (position_now(reading, speaker) - LOW) / (HIGH - LOW), 0
    elif reading.topic is None:
        return None
    else:
        value, unread = speaker.attitude(reading)
        share = value / 10
    return Standing(share, stance_line(reading, share), unread)


def stance_line(reading: Reading, share: float) -> str:
    """Return the sentence that says a stance, to the nearest point that has a word."""
    if "issue" in reading.facts:
        stance = reading.banks.deliberation["stances"][str(dither(LOW + share * (HIGH - LOW), 1, None))]
        line = reading.banks.deliberation["said"]["own"][0].format(stance=stance)
        return f"{line[0].upper()}{line[1:]}."
    return reading.banks.topics[reading.topic or ""].stance_sentence(dither(10 * share, 1, None))


def stance_of(reading: Reading, text: str) -> float | None:
    """Return the stance of a text; None when it has no known sentence."""
    issue = reading.facts.get("issue")
    if issue is not None:
        stance = read(reading.banks, text, issue).stance
        return None if stance is None else (stance - LOW) / (HIGH - LOW)
    grade = reading.banks.topics[reading.topic].grade(text) if reading.topic else None
    return None if grade is None else grade / 10


def unknown(reading: Reading) -> Reply:
    """Return the named failure of a question on no topic of the banks."""
    return Reply.failed("unknown_ask", reading.ask[:120])


def too_few_words(reading: Reading) -> Reply:
    """Return the named failure of a length for which there is no sentence."""
    return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")


def fitted(parts: list[tuple[int, str]], words: int) -> str:
    """Return the sentences (rank, text) that fit into so many words, lowest rank first, in their own order; "" for none."""
    room, chosen = words, set[int]()
    for _, place in sorted((rank, place) for place, (rank, _) in enumerate(parts)):
        length = len(parts[place][1].split())
        if length <= room:
            chosen.add(place)
            room -= length
        elif not chosen:
            return ""
    return " ".join(text for place, (_, text) in enumerate(parts) if place in chosen)


def _gap(reading: Reading, own_standing: Standing) -> float | None:
    """Return the distance (0 to 1) of the last line heard; None without a readable line."""
    heard = stance_of(reading, reading.heard[-1][1]) if reading.heard else None
    return None if heard is None else abs(own_standing.share - heard)


def intention(reading: Reading, own_standing: Standing) -> str:
    """Return the intention: to state the stance when nothing was heard, else to agree or disagree with the last speaker."""
    gap, forms = _gap(reading, own_standing), reading.banks.data("language")["intention"]
    if gap is None:
        return str(forms["state"])
    return str(forms["disagree" if gap > FAR else "agree"].format(name=reading.heard[-1][0]))


NO_OPINION = "I weigh what the other may want."


def answer_note(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a private note, by its purpose.

    bdi: belief (the stance), desire (by its conviction) and intention (by the last line heard). latent: stance and feeling, which
    is calm, or angry when the last line heard is far off. bounded: stance and intention, as far as they fit into a few words; of
    who has no opinion, because what it does is no debate, a fixed line without influence.
    """
    if (own_standing := standing(reading, speaker)) is None:
        return Reply(NO_OPINION) if reading.request.purpose == "bounded" else unknown(reading)
    forms = reading.banks.data("language")["notes"]
    if reading.request.purpose == "bdi":
        desire = forms["convince" if own_standing.conviction >= FIRM else "learn"]
        text = forms["bdi"].format(belief=own_standing.line, desire=desire, intention=intention(reading, own_standing))
    elif reading.request.purpose == "latent":
        feeling = forms["angry" if (_gap(reading, own_standing) or 0.0) > FAR else "calm"]
        text = forms["latent"].format(stance=own_standing.line, feeling=feeling)
    else:
        text = fitted([(0, own_standing.line), (1, intention(reading, own_standing))], reading.words)
    return Reply(text, notes=own_standing.notes) if text else too_few_words(reading)


def answer_importance(reading: Reading, speaker: Speaker) -> Reply:
    """Rate a line: the lowest point for its own opinion, the highest for the other end of the axis."""
    scale, line = reading.facts.get("scale"), reading.facts.get("line", "")
    own_standing, other = standing(reading, speaker), stance_of(reading, line)
    if own_standing is None or scale is None:
        return unknown(reading)
    if other is None:
        return unknown_sentence(line)
    return Reply(str(round(scale.low + abs(own_standing.share - other) * (scale.high - scale.low))))


def answer_reflection(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a line for each speaker: its stance by the mean of its lines. Where memories are numbered, it cites them."""
    if "memories" in reading.facts:
        return _cited_reflection(reading)
    means = list(_by_speaker(reading, lambda text: stance_of(reading, text)).items())[: reading.facts.get("count")]
    if not means:
        return Reply.failed("nothing_to_conclude", "no line could be read")
    says = reading.banks.words("says")
    lines = [says.format(name=name, line=stance_line(reading, mean)) for name, mean in means]
    return Reply("\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))


def _cited_reflection(reading: Reading) -> Reply:
    """Answer as a reflection does, each line with the numbers of the memories about its speaker: lines, and own insights."""
    memories, says = reading.facts.get("memories", ()), reading.banks.words("says")
    names = list(dict.fromkeys(name for name, _ in memories if name))
    lines = []
    for name in names:
        begin = says.format(name=name, line="")
        about = {n: t for n, (who, t) in enumerate(memories, 1) if who == name or (not who and t.startswith(begin))}
        stances = [stance for text in about.values() if (stance := stance_of(reading, text)) is not None]
        if stances:
            line = says.format(name=name, line=stance_line(reading, sum(stances) / len(stances)))
            lines.append(f"{line} ({', '.join(map(str, about))})")
    if not lines:
        return Reply.failed("nothing_to_conclude", "no line could be read")
    return Reply("\n".join(lines[: reading.facts.get("count")]))


def answer_summary(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a line for each speaker, in a sentence of the mean grade of its lines."""
    if reading.topic is None:
        return unknown(reading)
    bank, rng = reading.banks.topics[reading.topic], stream(reading.request.seed, reading.heard)
    if not (grades := _by_speaker(reading, bank.grade)):
        return Reply.failed("nothing_to_summarise", "no line could be read")
    lines = {name: rng.choice(rng.choice(bank.by_grade[dither(mean, 2, None)])) for name, mean in grades.items()}
    return Reply("\n".join(f"{name}: {line}" for name, line in lines.items()))


def _by_speaker(reading: Reading, measure: Callable[[str], float | None]) -> dict[str, float]:
    """Return the mean measure of the lines of each speaker that have one."""
    values: dict[str, list[float]] = defaultdict(list)
    for name, text in reading.heard:
        if (value := measure(text)) is not None:
            values[name].append(value)
    return {name: sum(measured) / len(measured) for name, measured in values.items()}
