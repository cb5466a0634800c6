"""Writes backstories and personas, the case that opens a debate, and questions on US politics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.party_files import level_shares
from parley.llm.backends.oracle.phrases import Banks, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.self_facts import changes
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import stream

YOUNGEST, RETIRED, OLDEST = 22, 67, 78
"""Ages of the youngest person, of the youngest retired person, and of the oldest person."""
NOW = 2026
"""The year in which the ages hold."""
PAST = 2
"""Sentences on the past of a person, where the text is long enough with them."""
SIMILAR = 0.7
"""Share of the questions that are about the example's topic, as far as the bank has so many."""


class Position(NamedTuple):
    """A topic (slug of the bank), and the level that is stated on it."""

    slug: str
    level: str


def write_backstory(reading: Reading, speaker: Speaker) -> Reply:
    """Write a persona's backstory, from a party, a name, and positions to choose from."""
    facts, rng = reading.facts, stream(reading.request.seed, reading.ask)
    party = facts.get("party", "")
    if party not in reading.banks.data("backstory").get("party", {}):
        return unknown(reading)
    positions: list[Position] = []
    for subject, answers in facts.get("positions", ()):
        position = _draw_position(reading.banks, subject, answers, party, rng)
        if isinstance(position, Reply):
            return position
        positions.append(position)
    shortest, longest = facts.get("shortest", 0), facts.get("longest", 1000)
    return Reply(_story(reading.banks, facts.get("name", ""), party, positions, shortest, longest, rng))


def _draw_position(banks: Banks, subject: str, answers: str, party: str, rng: random.Random) -> Position | Reply:
    """Draw a level among the answers, by the planted shares; a named failure for a subject without sentences."""
    slugs = {entry["asked"]: slug for slug, entry in banks.data("backstory")["positions"].items() if "asked" in entry}
    if subject not in slugs:
        return Reply.failed("unknown_ask", f"the rule-based writer has no sentences on {subject!r}")
    slug, planted = slugs[subject], banks.data("parameters")
    weights = _level_weights(banks, slug, levels(planted, _kind(banks, subject)), party)
    offered = {level: weight for level, weight in weights.items() if level in answers}
    if not offered:
        return Reply.failed("unknown_ask", f"the rule-based writer knows no position {answers!r} on {subject!r}")
    shares = list(offered.values())
    return Position(slug, rng.choices(list(offered), shares if sum(shares) else None)[0])


def _level_weights(banks: Banks, slug: str, names: Sequence[str], party: str) -> dict[str, float]:
    """Return how often people of a party state each level: as its file says, else by where the party begins."""
    levels, topic = banks.data("parameters")["levels"], banks.parameters[f"{banks.prefix}{slug}"]
    if party in topic["positions"]:
        return dict(zip(names, topic["positions"][party], strict=True))
    return level_shares({name: float(levels[name]) for name in names}, topic["start"][party])


def _story(
    banks: Banks, name: str, party: str, positions: Sequence[Position], shortest: int, longest: int, rng: random.Random
) -> str:
    """Return identity, party and positions of a person; and as far as the words reach its past, and reasons.

    A reason follows half of the positions; with few positions more of both is said, up to `shortest` words.
    """
    slots = _slots(banks, name, rng)
    story = [
        *_life(banks, slots, rng),
        rng.choice(banks.data("backstory")["party"][party]["affiliation"]).format(**slots),
    ]
    stated = _stated(banks, positions, slots, rng)
    words = _words(story) + _words(list(stated.values()))
    for more in _past(banks, party, slots, shortest - words, rng):
        if words + _words([more]) <= longest:
            story, words = [*story, more], words + _words([more])
    reasons = 0
    for position, sentence in stated.items():
        story.append(sentence)
        reason = _reason(banks, position, story, rng)
        if words + _words([reason]) <= longest and (reasons < len(positions) // 2 or words < shortest):
            story, words, reasons = [*story, reason], words + _words([reason]), reasons + 1
    return " ".join(story)


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _slots(banks: Banks, name: str, rng: random.Random) -> dict[str, str]:
    """Draw what several sentences say of a person, at an age that it goes with."""
    bank = banks.data("backstory")
    age = rng.randint(YOUNGEST, OLDEST)
    drawn = {slot: rng.choice(fillers) for slot, fillers in bank["slots"].items() if slot != "family"}
    retired = banks.words("retired_role").format(job=drawn["job"], trade=drawn["job"].partition(" ")[2])
    family = [entry["text"] for entry in bank["slots"]["family"] if entry["from"] <= age <= entry["to"]]
    return drawn | {
        "name": name,
        "age": f"{age}",
        "family": rng.choice(family),
        "home": banks.pattern("home_in").split(drawn["place"])[-1],
        "trade": drawn["job"].partition(" ")[2],
        "role": drawn["job"] if age < RETIRED else retired,
        "years": f"{rng.randint(20, 40)}",
        "young": f"{rng.randint(18, min(45, age - 2))}",
        "year": f"{NOW - age + rng.randint(18, min(45, age - 2))}",
        "voting": f"{age - 18}",
        "country": str(bank.get("country", "")),
    }


def _life(banks: Banks, slots: dict[str, str], rng: random.Random) -> list[str]:
    forms = banks.data("backstory")["sentences"]
    retired = int(slots["age"]) >= RETIRED
    identity = forms["who_retired"] if retired else forms["who"]
    leisure = forms["leisure"] if retired else [*forms["leisure"], *forms["leisure_working"]]
    return [rng.choice(kind).format(**slots) for kind in (identity, forms["life"], leisure)]


def _past(banks: Banks, party: str, slots: dict[str, str], wanted: int, rng: random.Random) -> list[str]:
    """Return PAST of values, an event and sources of news; all of them where `wanted` words need more."""
    bank = banks.data("backstory")
    party_bank, age = bank["party"][party], int(slots["age"])
    event = rng.choice([*party_bank["history"], *party_bank["history_young"]])
    then = rng.randint(20, min(45, age - 1)) if event in party_bank["history"] else rng.randint(12, 17)
    years = {"event": event, "then": f"{then}", "then_year": f"{NOW - age + then}"}
    slots = slots | {"value": rng.choice(party_bank["values"]), **years}
    forms = [bank["sentences"]["values"], bank["sentences"]["history"], party_bank["news"]]
    drawn = rng.sample(forms, PAST)
    past = [rng.choice(kind).format(**slots) for kind in drawn]
    if _words(past) < wanted:
        past += [rng.choice(kind).format(**slots) for kind in forms if kind not in drawn]
    return past


def _stated(
    banks: Banks, positions: Sequence[Position], slots: dict[str, str], rng: random.Random
) -> dict[Position, str]:
    """Return a sentence for every position, in a drawn order, no two of one form."""
    bank = banks.data("backstory")
    forms = bank["sentences"]
    shuffled = {kind: rng.sample(forms[kind], len(forms[kind])) for kind in ("severity", "agreement")}
    stated = {}
    for number, position in enumerate(rng.sample(positions, len(positions))):
        entry = bank["positions"][position.slug]
        kind = shuffled[_kind(banks, entry["asked"])]
        stated[position] = kind[number % len(kind)].format(**slots, subject=entry["subject"], level=position.level)
    return stated


def _reason(banks: Banks, position: Position, story: Sequence[str], rng: random.Random) -> str:
    end = "high" if banks.data("parameters")["levels"][position.level] > 5 else "low"
    lines = banks.data("backstory")["reasons"][position.slug][end]["lines"]
    return str(rng.choice([line for line in lines if line not in story]))


def levels(planted: dict[str, Any], kind: str) -> list[str]:
    """Return the levels of a topic, from the lowest up: four of a problem (severity), four of a proposal (agreement)."""
    names = list(planted["levels"])
    return names[4:] if kind == "agreement" else names[:4]


def _kind(banks: Banks, wording: str) -> str:
    """Return what a position is about, as a prompt names it: a problem (severity) or a proposal (agreement)."""
    return "agreement" if wording.startswith(banks.words("proposal")) else "severity"


def write_persona(reading: Reading, speaker: Speaker) -> Reply:
    """Write an enhanced persona, from name, leaning, place and news."""
    facts, rng = reading.facts, stream(reading.request.seed, reading.ask)
    bank = reading.banks.data("enhanced")
    side = bank[reading.banks.party(facts["leaning"])]
    background, career, news = [rng.choice(bank[kind]) for kind in ("background", "career", "news")]
    event, belief, conflict = [rng.choice(side[kind]) for kind in ("event", "belief", "conflict")]
    who = reading.banks.words("who").format(name=facts["name"], leaning=facts["leaning"])
    turn = reading.banks.words("turn").format(career=career, event=event)
    home, news = background.format(location=facts["location"]), news.format(news=facts["news"])
    return Reply(" ".join([who, home, turn, belief, conflict, news]))


def rewrite_persona(reading: Reading, speaker: Speaker) -> Reply:
    """Rewrite a persona as a man, a woman or a person of a certain age, in the first sentence and in one more."""
    word, perspective = reading.facts["variant"], reading.banks.data("enhanced")["perspective"]
    first, *rest = sentences(reading.facts["persona"])
    first_sentence = _with_variant(reading.banks, first, word)
    if first_sentence is None or word not in perspective:
        return unknown(reading)
    rng = stream(reading.request.seed, reading.ask)
    rest.insert(max(len(rest) - 1, 0), rng.choice(perspective[word]))
    return Reply(" ".join([first_sentence, *rest]))


def _with_variant(banks: Banks, first: str, word: str) -> str | None:
    """Return `You are Sam, an American.` as `You are Sam, an American man.` or `You are Sam, a 21-year-old American.`"""
    for pattern, form in changes(banks, "variant_age" if word[0].isdigit() else "variant_gender"):
        if pattern.search(first):
            who = banks.data("person")["variant_who"].get(word, "")
            return pattern.sub(form.replace("WORD", word).replace("WHO", who), first, count=1)
    return None


def write_case(reading: Reading, speaker: Speaker) -> Reply:
    """Write the case that opens a debate, from the given arguments for and against."""
    facts = reading.facts
    some, others = (" ".join(map(_sentence, facts[side])) for side in ("arguments_for", "arguments_against"))
    case = reading.banks.words("case").format(topic=facts["topic"], some=some, others=others)
    return Reply(case)


def _sentence(argument: str) -> str:
    """Return an argument as a sentence. Inside another one, "A woman" or "Texas" would keep or lose its capital wrongly."""
    line = " ".join(argument.split())
    return f"{line[0].upper()}{line[1:]}{'' if line[-1] in '.!?' else '.'}"


def write_questions(reading: Reading, speaker: Speaker) -> Reply:
    """Write questions on US politics (Taubenfeld et al., Table 2).

    If an example is about a debate topic, most of the questions are about it too.
    """
    count, example = reading.facts.get("count", 0), reading.facts.get("question", "")
    bank_questions = [
        question for question in reading.banks.data("questions").get("questions", ()) if question not in example
    ]
    if not 0 < count <= len(bank_questions):
        return Reply.failed("unknown_ask", f"{count} questions asked for, {len(bank_questions)} known")
    rng = stream(reading.request.seed, reading.ask)
    topic = reading.banks.recognised(example)
    about = [question for question in bank_questions if topic and reading.banks.recognised(question) == topic]
    similar = rng.sample(about, min(len(about), round(SIMILAR * count)))
    others = rng.sample([question for question in bank_questions if question not in similar], count - len(similar))
    written = rng.sample([*similar, *others], count)
    return Reply("\n".join(f"{number}. {question}" for number, question in enumerate(written, 1)))
