"""Whether generated personas are believable: length, age against work and family, and sentences that many have in
common.

Writing personas: the meta-prompt, and what is accepted as a backstory.

The prompt states the position of the party on each topic, as that of Taubenfeld et al. does (Fig 1a: "includes their
positions on the four controversial topics"). The positions are data (`[positions]` of a topic file); where a party has
none, the model chooses one. The wording of the prompt (prompts/backstory.txt) is our own: theirs is an image.
Temperature 1.0, as theirs (4.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from parley.agents.datafiles import HERE, quoted, read_toml, save_text
from parley.agents.persona import Persona
from parley.agents.topic import PROMPTS, Topic, load_topic, topic_names
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

SHARED = 0.25
"""In a set of personas fewer than this share of all sentences occur in more than one persona."""
_AGE = re.compile(r"\b(1[89]|[2-9]\d)\b(?! (?:years ago|years of|percent|hours|minutes|miles))")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Clash(NamedTuple):
    """`words` do not go with an age of `low` to `high` years, unless the text also has `unless`."""

    low: int
    high: int
    words: re.Pattern[str]
    unless: re.Pattern[str] | None
    why: str


def find_clash(text: str) -> str | None:
    """What cannot be true of one person, in words; None when nothing is found. A text without an age is not checked for
    it.

    >>> find_clash("Your name is Brenda, and at 73 you are a data analyst. You share a house with a college friend.")
    'is 73 and shares a home as students do'
    >>> find_clash("You are Ann, 24, and you share a house with a college friend.")
    """
    age = age_of(text)
    for one in _clashes():
        everywhere = (one.low, one.high) == (0, 120)
        if not everywhere and (age is None or not one.low <= age <= one.high):
            continue
        if one.words.search(text) and not (one.unless and one.unless.search(text)):
            return one.why if everywhere else f"is {age} and {one.why.removeprefix('is ')}"
    return None


def age_of(text: str) -> int | None:
    """The age that the first two sentences state: their first number from 18 to 99; None where there is none."""
    found = _AGE.search(" ".join(sentences_of(text)[:2]))
    return int(found[1]) if found else None


def length_problem(text: str, shortest: int, longest: int) -> str | None:
    """What is wrong with the number of words; None when nothing is."""
    words = len(text.split())
    return None if shortest <= words <= longest else f"has {words} words, not {shortest} to {longest}"


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they are."""
    return _SENTENCE.split(" ".join(text.split()))


def share_of_sentences(text: str, known: Collection[str]) -> float:
    """The share of the sentences of a text that are among `known` ones."""
    own = sentences_of(text)
    return sum(sentence in known for sentence in own) / len(own)


def shared_sentences(texts: Iterable[str]) -> float:
    """The share of all sentences of the texts that occur in more than one of them; 0 of no text.

    >>> shared_sentences(["You are Ann. You vote.", "You are Bob. You vote."])
    0.5
    """
    split = [sentences_of(text) for text in texts]
    texts_with = Counter(sentence for own in split for sentence in set(own))
    every: Sequence[str] = [sentence for own in split for sentence in own]
    return sum(texts_with[sentence] > 1 for sentence in every) / len(every) if every else 0.0


@cache
def _clashes() -> tuple[Clash, ...]:
    """Errors: UserError on an entry of clashes.toml that lacks something."""
    found = []
    for number, entry in enumerate(read_toml(HERE / "clashes.toml")["clash"], 1):
        try:
            unless = re.compile(entry["unless"], re.I) if "unless" in entry else None
            found.append(Clash(entry["from"], entry["to"], re.compile(entry["words"], re.I), unless, entry["why"]))
        except (KeyError, re.error) as error:
            raise UserError(f"clash {number} of clashes.toml needs from, to, words and why: {error}") from error
    return tuple(found)


BACKSTORY_TOKENS = 400
ATTEMPTS = 5
SHORTEST, LONGEST = 120, 180
"""Words of a backstory, asked for and checked."""
ANSWERS = {
    "severity": "not a problem at all, a small problem, a moderately big problem, or a very big problem",
    "agreement": "strongly oppose, somewhat oppose, somewhat favor, or strongly favor",
}
"""What a writer chooses from on an axis where the party has no position."""
Problem = Callable[[Reply], str | None]


def list_names(party: str) -> list[str]:
    """The first names kept for a party (agents/names.toml). Errors: UserError on an unknown party."""
    known = read_toml(HERE / "names.toml")
    if party not in known:
        raise unknown_name("party", party, known)
    return list(known[party])


def in_backstories() -> tuple[str, ...]:
    """The shipped topics on which a persona takes a position."""
    return tuple([slug for slug in topic_names() if load_topic(slug).in_backstories])


def generate_persona(party: str, name: str, seed: int, topics: Sequence[str] = ()) -> Conversation[str]:
    """A conversation that returns one backstory. topics: names or paths (none: `in_backstories`).

    Errors: UserError, see `is_valid_backstory`.
    """
    topics = topics or in_backstories()
    text, facts = request_text(party, name, topics), request_facts(party, name, topics)

    def compose(attempt: int) -> Request:
        own = derive(seed, "backstory", party, name, attempt)
        return Request((Message("user", text),), Sampling(1.0, BACKSTORY_TOKENS), own, (), "backstory", facts=facts)

    return is_valid_backstory(compose, lambda reply: unfit_topics(reply, name, party), f"{name} ({party})")


def is_valid_backstory(compose: Callable[[int], Request], problem: Problem, who: str) -> Conversation[str]:
    """Ask until a reply has no problem; that reply as one paragraph. Errors: UserError after ATTEMPTS replies.

    compose: the question of an attempt (0, 1, ...), each with a seed of its own. problem: what is wrong with a reply.
    """
    wrong: str | None = None
    for attempt in range(ATTEMPTS):
        reply = yield from ask(compose(attempt))
        wrong = problem(reply)
        if wrong is None:
            return " ".join((reply.text or "").split())
    raise UserError(f"no usable backstory for {who} in {ATTEMPTS} replies; the last one {wrong}")


def write_personas(
    party: str, folder: Path, backend: Backend, model: str, seed: int, topics: Sequence[str] = ()
) -> Path:
    """Recruit every name of a party and write `<folder>/<party>.toml`. Errors: UserError when it is there already."""
    path = check_unused(folder, party)
    chosen = [load_topic(topic) for topic in topics or in_backstories()]
    return save_text(path, to_toml(party, individuals(party, backend, seed, topics), model, chosen))


def individuals(party: str, backend: Backend, seed: int, topics: Sequence[str] = ()) -> dict[str, str]:
    """A backstory for every name of a party, in which few sentences occur twice.

    A person who has more than half of SHARED in common with the persons before is written anew, so that in the whole
    set less than SHARED is in common. Errors: UserError after ATTEMPTS rounds.
    """
    kept: dict[str, str] = {}
    for attempt in range(ATTEMPTS):
        waiting = [name for name in list_names(party) if name not in kept]
        seeds = [seed if not attempt else derive(seed, "again", attempt) for _ in waiting]
        stories = drive(
            [generate_persona(party, name, own, topics) for name, own in zip(waiting, seeds, strict=True)], backend
        )
        said = {sentence for story in kept.values() for sentence in sentences_of(story)}
        for name, story in zip(waiting, stories, strict=True):
            if share_of_sentences(story, said) < SHARED / 2:
                kept[name] = story
                said |= set(sentences_of(story))
        if len(kept) == len(list_names(party)):
            return {name: kept[name] for name in list_names(party)}
    left = [name for name in list_names(party) if name not in kept]
    raise UserError(
        f"{len(left)} of {len(list_names(party))} backstories ({', '.join(left[:3])}, "
        f"...) repeat sentences of others, in {ATTEMPTS} "
        "rounds of writing: take another model, or another --seed"
    )


def check_unused(folder: Path, party: str) -> Path:
    """Where the personas of a party go. Errors: UserError when there are some already."""
    path = folder / f"{party}.toml"
    if path.exists():
        raise UserError(f"{path} is there already; give another --out")
    return path


def to_toml(party: str, stories: dict[str, str], model: str, topics: Sequence[Topic] = ()) -> str:
    """The personas of a party as the text of a persona file, which says where the positions come from."""
    head = f"# Personas of a {party.title()}, written by {model} to agents/prompts/backstory.txt (python run.py personas).\n"
    given = [f"#   {topic.title}: {topic.positions.get(party) or 'chosen by the model'}\n" for topic in topics]
    told = "# Positions that the prompt stated:\n" + "".join(given) if given else ""
    return head + told + "".join(persona_entry(Persona("", party, name, story)) for name, story in stories.items())


def persona_entry(person: Persona) -> str:
    """One persona as its table in a persona file."""
    traits = f"gender = {quoted(person.gender)}\n" if person.gender else f"age = {person.age}\n" if person.age else ""
    return f"\n[[persona]]\nname = {quoted(person.name)}\n{traits}backstory = {quoted(person.backstory)}\n"


def request_text(party: str, name: str, topics: Sequence[str]) -> str:
    """The meta-prompt for a person, with a line for each topic."""
    lines = "\n".join([f"- {about}: {answers}" for about, answers in _positions(party, topics)])
    slots = {"shortest": str(SHORTEST), "longest": str(LONGEST)}
    return prompt(PROMPTS, "backstory").fill(party=party.title(), name=name, positions=lines, **slots)


def request_facts(party: str, name: str, topics: Sequence[str]) -> Facts:
    """What the meta-prompt states."""
    positions = _positions(party, topics)
    return {"party": party, "name": name, "positions": positions, "shortest": SHORTEST, "longest": LONGEST}


def _positions(party: str, topics: Sequence[str]) -> list[tuple[str, str]]:
    return [(topic_subject(topic), party_position(topic, party)) for topic in map(load_topic, topics)]


def topic_subject(topic: Topic) -> str:
    """What a position is about: how big a problem it is, or a proposition that is favored or opposed.

    >>> topic_subject(load_topic("racism")), topic_subject(load_topic("abortion"))
    ('how big a problem racism is', 'whether partial-birth abortions should be banned')
    """
    if topic.axis == "severity":
        return f"how big a problem {topic.title} is"
    return (
        f"whether {topic.claim}" if "agreement" in topic.probes else f"their answer to the question {topic.question!r}"
    )


def party_position(topic: Topic, party: str) -> str:
    """The answers from which the writer takes one: those of the party, else all of them."""
    free = ANSWERS.get(topic.axis, ANSWERS["agreement"])
    return topic.positions.get(party) or f"no position is given, choose one of: {free}"


def unfit_topics(reply: Reply, name: str, party: str) -> str | None:
    """What is wrong with a reply as one of these backstories; None when nothing is."""
    text = reply.text or ""
    if wrong := validation_error(reply, name):
        return wrong
    if not re.search(rf"\b{party}", text, re.I):
        return f"does not name the party ({party})"
    return length_problem(text, SHORTEST, LONGEST)


def validation_error(reply: Reply, name: str) -> str | None:
    """What is wrong with any backstory of this person; None when nothing is."""
    text = (reply.text or "").lower()
    if not text.strip():
        failure = reply.failure
        return f"failed ({': '.join(filter(None, [failure.name, failure.detail])) if failure else 'empty'})"
    if not re.search(rf"\b{re.escape(name.lower())}\b", text):
        return "does not name the person"
    if "you" not in text.split():
        return "is not in the second person"
    return find_clash(reply.text or "")
