"""What is written outside of debates: backstories and personas, the case that opens a debate, questions on US politics."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.llm.backends.oracle.phrases import data, recognised, sentences
from parley.llm.backends.oracle.prompt_parser import Reading, party
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

YOUNGEST, RETIRED, OLDEST = 22, 67, 78
"""Ages: of the youngest person, of the youngest who is retired, of the oldest."""
NOW = 2026
"""The year in which the people are as old as they are."""
PAST = 2
"""Sentences on what shaped somebody, where the text is long enough with them."""
ALIKE = 0.7
"""Share of the questions that are about the example's topic, as far as there are so many."""
_WHO = re.compile(r"\b(?:an|(?P<leaning>a [\w-]+)) American\b")


class Position(NamedTuple):
    """A topic (slug of the bank), and the level that is stated on it."""

    slug: str
    level: str


def write_backstory(reading: Reading, oracle: Oracle) -> Reply:
    """A persona's backstory, from a party, a name, and positions to choose from."""
    facts, rng = reading.facts, random.Random(derive(reading.request.seed, reading.ask))
    side = facts.get("party", "")
    if side not in ("republican", "democrat"):
        return unknown(reading)
    positions: list[Position] = []
    for subject, answers in facts.get("positions", ()):
        found = _position(subject, answers, side, rng)
        if isinstance(found, Reply):
            return found
        positions.append(found)
    shortest, longest = facts.get("shortest", 0), facts.get("longest", 1000)
    return Reply(_story(facts.get("name", ""), side, positions, shortest, longest, rng))


def _position(subject: str, answers: str, party: str, rng: random.Random) -> Position | Reply:
    """A level among the answers, drawn as often as planted; a named failure for what it has no sentences about."""
    known = {entry["asked"]: slug for slug, entry in data("backstory")["positions"].items() if "asked" in entry}
    if subject not in known:
        return Reply.failed("unknown_ask", f"the rule-based writer has no sentences on {subject!r}")
    slug, planted = known[subject], data("parameters")
    weights = dict(zip(levels(planted, slug), planted["topics"][slug]["positions"][party], strict=True))
    named = [level for level in weights if level in answers]
    if not named:
        return Reply.failed("unknown_ask", f"the rule-based writer knows no position {answers!r} on {subject!r}")
    shares = [weights[level] for level in named]
    return Position(slug, rng.choices(named, shares if sum(shares) else None)[0])


def _story(
    name: str, party: str, positions: Sequence[Position], shortest: int, longest: int, rng: random.Random
) -> str:
    """Who somebody is, the party, the positions; and as far as the words reach what shaped them, and reasons.

    A reason follows half of the positions; with few positions more of both is said, up to `shortest` words.
    """
    slots = _slots(name, rng)
    said = [*_life(slots, rng), rng.choice(data("backstory")["party"][party]["affiliation"]).format(**slots)]
    stated = _stated(positions, slots, rng)
    words = _words(said) + _words(list(stated.values()))
    for more in _past(party, slots, shortest - words, rng):
        if words + _words([more]) <= longest:
            said, words = [*said, more], words + _words([more])
    reasons = 0
    for position, sentence in stated.items():
        said.append(sentence)
        reason = _reason(position, said, rng)
        if words + _words([reason]) <= longest and (reasons < len(positions) // 2 or words < shortest):
            said, words, reasons = [*said, reason], words + _words([reason]), reasons + 1
    return " ".join(said)


def _words(said: Sequence[str]) -> int:
    return sum(len(one.split()) for one in said)


def _slots(name: str, rng: random.Random) -> dict[str, str]:
    """What is said of the person in several sentences: each drawn once, at an age that it goes with."""
    bank = data("backstory")
    age = rng.randint(YOUNGEST, OLDEST)
    found = {slot: rng.choice(fillers) for slot, fillers in bank["slots"].items() if slot != "family"}
    trade = found["job"].partition(" ")[2]
    family = [one["text"] for one in bank["slots"]["family"] if one["from"] <= age <= one["to"]]
    return found | {
        "name": name,
        "age": f"{age}",
        "family": rng.choice(family),
        "home": re.split(r" (?:in|of) ", found["place"])[-1],
        "trade": trade,
        "role": found["job"] if age < RETIRED else f"a retired {trade}",
        "years": f"{rng.randint(20, 40)}",
        "young": f"{rng.randint(18, min(45, age - 2))}",
        "year": f"{NOW - age + rng.randint(18, min(45, age - 2))}",
        "voting": f"{age - 18}",
    }


def _life(slots: dict[str, str], rng: random.Random) -> list[str]:
    forms = data("backstory")["sentences"]
    retired = int(slots["age"]) >= RETIRED
    who = forms["who_retired"] if retired else forms["who"]
    leisure = forms["leisure"] if retired else [*forms["leisure"], *forms["leisure_working"]]
    return [rng.choice(kind).format(**slots) for kind in (who, forms["life"], leisure)]


def _past(party: str, slots: dict[str, str], wanted: int, rng: random.Random) -> list[str]:
    """PAST of what is valued, what happened once, where news come from; all of it where `wanted` words need more."""
    bank = data("backstory")
    own, age = bank["party"][party], int(slots["age"])
    event = rng.choice([*own["history"], *own["history_young"]])
    then = rng.randint(20, min(45, age - 1)) if event in own["history"] else rng.randint(12, 17)
    slots = slots | {
        "value": rng.choice(own["values"]),
        "event": event,
        "then": f"{then}",
        "then_year": f"{NOW - age + then}",
    }
    forms = [bank["sentences"]["values"], bank["sentences"]["history"], own["news"]]
    drawn = rng.sample(forms, PAST)
    said = [rng.choice(kind).format(**slots) for kind in drawn]
    if _words(said) < wanted:
        said += [rng.choice(kind).format(**slots) for kind in forms if kind not in drawn]
    return said


def _stated(positions: Sequence[Position], slots: dict[str, str], rng: random.Random) -> dict[Position, str]:
    """A sentence for every position, in a drawn order, no two of one form."""
    bank = data("backstory")
    forms = {
        kind: rng.sample(bank["sentences"][kind], len(bank["sentences"][kind])) for kind in ("severity", "agreement")
    }
    found = {}
    for number, position in enumerate(rng.sample(positions, len(positions))):
        entry = bank["positions"][position.slug]
        kind = forms["agreement" if entry["asked"].startswith("whether") else "severity"]
        found[position] = kind[number % len(kind)].format(**slots, subject=entry["subject"], level=position.level)
    return found


def _reason(position: Position, said: Sequence[str], rng: random.Random) -> str:
    end = "high" if data("parameters")["levels"][position.level] > 5 else "low"
    lines = data("backstory")["reasons"][position.slug][end]["lines"]
    return str(rng.choice([line for line in lines if line not in said]))


def levels(planted: dict[str, Any], slug: str) -> list[str]:
    """The levels of a topic, from the lowest up: four of a problem, four of a proposal."""
    names = list(planted["levels"])
    return names[4:] if slug == "abortion" else names[:4]


def write_persona(reading: Reading, oracle: Oracle) -> Reply:
    """An enhanced persona, from name, leaning, place and news."""
    facts, rng = reading.facts, random.Random(derive(reading.request.seed, reading.ask))
    bank = data("enhanced")
    side = bank[party(facts["leaning"])]
    background, career, news = [rng.choice(bank[kind]) for kind in ("background", "career", "news")]
    event, belief, conflict = [rng.choice(side[kind]) for kind in ("event", "belief", "conflict")]
    who, home = f"You are {facts['name']}, {facts['leaning']}.", background.format(location=facts["location"])
    told = news.format(news=facts["news"])
    return Reply(" ".join([who, home, f"{career}, and {event}", belief, conflict, told]))


def rewrite_persona(reading: Reading, oracle: Oracle) -> Reply:
    """A given persona as a man, a woman or somebody of a certain age: said in the first sentence, and in one more."""
    word, perspective = reading.facts["variant"], data("enhanced")["perspective"]
    first, *rest = sentences(reading.facts["persona"])
    told = _with_variant(first, word)
    if told is None or word not in perspective:
        return unknown(reading)
    rng = random.Random(derive(reading.request.seed, reading.ask))
    rest.insert(max(len(rest) - 1, 0), rng.choice(perspective[word]))
    return Reply(" ".join([told, *rest]))


def _with_variant(first: str, word: str) -> str | None:
    """`You are Sam, an American.` as `You are Sam, an American man.` or `You are Sam, a 21-year-old American.`"""
    if not (found := _WHO.search(first)):
        return None
    aged = f"{found['leaning'] or 'a'} {word} American"
    return first[: found.start()] + (aged if word[0].isdigit() else f"{found[0]} {word}") + first[found.end() :]


def write_case(reading: Reading, oracle: Oracle) -> Reply:
    """The case that opens a debate, put together from the arguments for and against that it is to be made of."""
    facts = reading.facts
    some, others = (" ".join(map(_sentence, facts[side])) for side in ("arguments_for", "arguments_against"))
    return Reply(
        f"A city council has to decide what to do about {facts['topic']}, and the hall is full. Some say: {some} "
        f"Others answer: {others} The vote is tonight."
    )


def _sentence(argument: str) -> str:
    """An argument as a sentence: inside of another one, "A woman" or "Texas" would keep or lose its capital wrongly."""
    line = " ".join(argument.split())
    return f"{line[0].upper()}{line[1:]}{'' if line[-1] in '.!?' else '.'}"


def write_questions(reading: Reading, oracle: Oracle) -> Reply:
    """Questions on US politics (Taubenfeld et al., Table 2).

    Where an example is given that is about a debate topic, most of the questions are about it too.
    """
    count, example = reading.facts.get("count", 0), reading.facts.get("question", "")
    known = [question for question in data("questions")["questions"] if question not in example]
    if not 0 < count <= len(known):
        return Reply.failed("unknown_ask", f"{count} questions asked for, {len(known)} known")
    rng = random.Random(derive(reading.request.seed, reading.ask))
    topic = recognised(example)
    about = [question for question in known if topic and recognised(question) == topic]
    alike = rng.sample(about, min(len(about), round(ALIKE * count)))
    others = rng.sample([one for one in known if one not in alike], count - len(alike))
    written = rng.sample([*alike, *others], count)
    return Reply("\n".join(f"{number}. {question}" for number, question in enumerate(written, 1)))
