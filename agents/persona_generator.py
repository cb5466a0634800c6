"""Lets a model write the personas of the set `voters`, and checks them.

The prompt states the party's position on each topic, as in Taubenfeld et al. (Fig 1a: "includes their positions on the
four controversial topics"). Positions are data (`[positions]` of a topic file); if a party has none, the model chooses
one. The wording of the prompt (prompts/backstory.txt) is our own, because theirs is an image. Temperature 1.0, as
theirs (4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from parley.agents.datafiles import read_toml, save_text, table_rows
from parley.agents.language import ENGLISH, Language
from parley.agents.persona import Persona
from parley.agents.society import DEFAULT, Society, article, load_society
from parley.agents.topic import Topic, load_topic, society_topics
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

SHARED = 0.25
"""In a set of personas, less than this share of all sentences may occur in more than one persona."""
_AGE = re.compile(r"\b(1[89]|[2-9]\d)\b(?! (?:years ago|years of|percent|hours|minutes|miles))")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Clash(NamedTuple):
    """A contradiction: `words` in the text of a person aged `low` to `high`, unless it also has `unless`."""

    low: int
    high: int
    words: re.Pattern[str]
    unless: re.Pattern[str] | None
    why: str


def find_clash(text: str, language: Language = ENGLISH) -> str | None:
    """Return what cannot be true of one person, in words, or None. A text without an age is not checked for age.

    What clashes is data of the language (clashes.toml); a language without that file has no clashes.

    >>> find_clash("Your name is Brenda, and at 73 you are a retired analyst. You share a house with a college friend.")
    'is 73 and shares a home as students do'
    >>> find_clash("You are Ann, 24, and you share a house with a college friend.")
    """
    age = age_of(text)
    for clash in _clashes(language):
        any_age = (clash.low, clash.high) == (0, 120)
        if not any_age and (age is None or not clash.low <= age <= clash.high):
            continue
        if clash.words.search(text) and not (clash.unless and clash.unless.search(text)):
            return clash.why if any_age else f"is {age} and {clash.why.removeprefix('is ')}"
    return None


def age_of(text: str) -> int | None:
    """Return the age in the first two sentences: their first number from 18 to 99, or None."""
    match = _AGE.search(" ".join(sentences_of(text)[:2]))
    return int(match[1]) if match else None


def length_problem(text: str, shortest: int, longest: int) -> str | None:
    """Return what is wrong with the number of words, or None."""
    words = len(text.split())
    return None if shortest <= words <= longest else f"has {words} words, not {shortest} to {longest}"


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text."""
    return _SENTENCE.split(" ".join(text.split()))


@cache
def _clashes(language: Language) -> tuple[Clash, ...]:
    """Errors: UserError on an entry of clashes.toml that lacks something."""
    clashes, path = [], language.folder / "clashes.toml"
    for number, entry in enumerate(read_toml(path)["clash"] if path.is_file() else (), 1):
        try:
            unless = re.compile(entry["unless"], re.I) if "unless" in entry else None
            clashes.append(Clash(entry["from"], entry["to"], re.compile(entry["words"], re.I), unless, entry["why"]))
        except (KeyError, re.error) as error:
            raise UserError(
                f"entry {number} of clashes.toml needs the keys `from`, `to`, `words` and `why`: {error}"
            ) from error
    return tuple(clashes)


BACKSTORY_TOKENS = 400
ATTEMPTS = 5
SHORTEST, LONGEST = 120, 180
"""Words of a backstory, requested and checked."""
Problem = Callable[[Reply], str | None]


def list_names(party: str, society: Society | None = None) -> list[str]:
    """Return the first names of a party (`names` in its file; society None: `us`). Errors: UserError on an unknown party."""
    names = (society or load_society()).names
    if party not in names:
        raise unknown_name("party", party, names)
    return list(names[party])


def in_backstories(society: Society) -> tuple[str, ...]:
    """Return the topics of a society on which a persona takes a position."""
    return tuple([slug for slug in society_topics(society) if load_topic(slug).in_backstories])


def generate_persona(
    party: str, name: str, seed: int, topics: Sequence[str] = (), society: Society | None = None
) -> Conversation[str]:
    """Return one backstory, after a conversation. topics: names or paths (none: `in_backstories`).

    Errors: UserError, see `is_valid_backstory`.
    """
    society = society or load_society()
    topics = topics or in_backstories(society)
    text, facts = request_text(party, name, topics, society), request_facts(party, name, topics)

    def compose(attempt: int) -> Request:
        attempt_seed = derive(seed, "backstory", party, name, attempt)
        return Request(
            (Message("user", text),), Sampling(1.0, BACKSTORY_TOKENS), attempt_seed, (), "backstory", facts=facts
        )

    return is_valid_backstory(compose, lambda reply: unfit_topics(reply, name, party, society), f"{name} ({party})")


def is_valid_backstory(compose: Callable[[int], Request], problem: Problem, who: str) -> Conversation[str]:
    """Ask until a reply has no problem and return it as one paragraph. Errors: UserError after ATTEMPTS replies.

    compose: the request of an attempt (0, 1, ...). problem: what is wrong with a reply, or None.
    """
    wrong: str | None = None
    for attempt in range(ATTEMPTS):
        reply = yield from ask(compose(attempt))
        if (wrong := problem(reply)) is None:
            return " ".join((reply.text or "").split())
    raise UserError(
        f"the model wrote no usable backstory for {who} in {ATTEMPTS} replies (the last reply {wrong}): try "
        "another --llm or --seed"
    )


def write_personas(
    party: str, folder: Path, backend: Backend, model: str, seed: int, society: Society, topics: Sequence[str] = ()
) -> Path:
    """Write personas for all names of a party to `<folder>/<party>.toml`. Errors: UserError if the file exists."""
    path = check_unused(folder, party)
    chosen = [load_topic(topic) for topic in topics or in_backstories(society)]
    stories = individuals(party, backend, seed, society, topics)
    return save_text(path, to_toml(party, stories, model, society, chosen))


def individuals(
    party: str, backend: Backend, seed: int, society: Society, topics: Sequence[str] = ()
) -> dict[str, str]:
    """Return a backstory for every name of a party, with few shared sentences. Errors: UserError after ATTEMPTS rounds.

    A backstory that shares more than half of SHARED with the ones before it is written again.
    """
    names, stories = list_names(party, society), dict[str, str]()
    for attempt in range(ATTEMPTS):
        waiting = [name for name in names if name not in stories]
        own_seed = derive(seed, "again", attempt) if attempt else seed
        written = drive([generate_persona(party, name, own_seed, topics, society) for name in waiting], backend)
        known_sentences = {sentence for story in stories.values() for sentence in sentences_of(story)}
        for name, story in zip(waiting, written, strict=True):
            sentences = sentences_of(story)
            if sum(sentence in known_sentences for sentence in sentences) / len(sentences) < SHARED / 2:
                stories[name] = story
                known_sentences.update(sentences)
        if len(stories) == len(names):
            return {name: stories[name] for name in names}
    left = [name for name in names if name not in stories]
    raise UserError(
        f"{len(left)} of {len(names)} backstories ({', '.join(left[:3])}, ...) still repeat sentences of other "
        f"backstories after {ATTEMPTS} attempts: choose another --llm or another --seed"
    )


def check_unused(folder: Path, party: str) -> Path:
    """Return the file for the personas of a party. Errors: UserError if it exists."""
    path = folder / f"{party}.toml"
    if path.exists():
        raise UserError(f"{path} exists already; give another --out")
    return path


def to_toml(party: str, stories: dict[str, str], model: str, society: Society, topics: Sequence[Topic] = ()) -> str:
    """Return the text of a persona file, with the positions that the prompt stated as comments."""
    label = society.label(party)
    head = f"# Personas of {article(label)} {label}, written by {model} to the prompt backstory.txt "
    head += "(python run.py study personas).\n"
    given = [f"#   {topic.title}: {topic.positions.get(party) or 'chosen by the model'}\n" for topic in topics]
    told = "# Positions that the prompt stated:\n" + "".join(given) if given else ""
    return head + told + persona_rows([Persona("", party, name, story) for name, story in stories.items()])


def persona_rows(people: Iterable[Persona]) -> str:
    """Return the lines of a persona file, one a persona, after an empty line."""
    tables = [{name: getattr(person, name) for name in ("name", "gender", "age", "backstory")} for person in people]
    return "\n" + table_rows("persona", [{name: value for name, value in table.items() if value} for table in tables])


def request_text(party: str, name: str, topics: Sequence[str], society: Society) -> str:
    """Return the prompt for a persona, with a line for each topic."""
    lines = "\n".join([f"- {about}: {answers}" for about, answers in _positions(party, topics)])
    slots = {"shortest": str(SHORTEST), "longest": str(LONGEST), "country": society.language.country(society.country)}
    template = society.language.prompt("backstory")
    party = society.label(party).removesuffix(" voter")  # the prompt says "a ... voter"
    return template.fill(party=party, name=name, positions=lines, **slots)


def request_facts(party: str, name: str, topics: Sequence[str]) -> Facts:
    """Return what this prompt states, for the oracle."""
    positions = _positions(party, topics)
    return {"party": party, "name": name, "positions": positions, "shortest": SHORTEST, "longest": LONGEST}


def _positions(party: str, topics: Sequence[str]) -> list[tuple[str, str]]:
    return [(topic_subject(topic), party_position(topic, party)) for topic in map(load_topic, topics)]


def topic_subject(topic: Topic) -> str:
    """Return what a position is about: how big a problem something is, or a proposition.

    >>> topic_subject(load_topic("racism")), topic_subject(load_topic("abortion"))
    ('how big a problem racism is', 'whether partial-birth abortions should be banned')
    """
    language = topic.language
    if topic.axis == "severity":
        return language.fill("how_big", title=topic.title)
    if "agreement" in topic.probes:
        return language.fill("whether", claim=topic.claim)
    return language.fill("their_answer", question=topic.question)


def party_position(topic: Topic, party: str) -> str:
    """Return the position of the party, or the positions from which the writer chooses."""
    language, axis = topic.language, "severity" if topic.axis == "severity" else "agreement"
    free = language.fill("no_position", answers=language.words(f"answers_{axis}"))
    return topic.positions.get(party) or free


def unfit_topics(reply: Reply, name: str, party: str, society: Society) -> str | None:
    """Return what is wrong with a reply as a backstory of this set, or None."""
    text = reply.text or ""
    if wrong := validation_error(reply, name, society.language):
        return wrong
    if not names_party(text, party, society):
        return f"does not name the party ({society.label(party)})"
    return length_problem(text, SHORTEST, LONGEST)


def names_party(text: str, party: str, society: Society) -> bool:
    """Return whether a text has a word of the party, or its label; True for the neutral seat, which has no party."""
    party_data = society.parties.get(party)
    words = {society.label(party), *(party_data.words if party_data else ())}
    return party == DEFAULT or any(re.search(rf"\b{re.escape(word)}", text, re.I) for word in words)


def validation_error(reply: Reply, name: str, language: Language) -> str | None:
    """Return what is wrong with a reply as any backstory of this person, or None."""
    text = (reply.text or "").lower()
    if not text.strip():
        failure = reply.failure
        return f"failed ({': '.join(filter(None, [failure.name, failure.detail])) if failure else 'empty'})"
    if not re.search(rf"\b{re.escape(name.lower())}\b", text):
        return "does not name the person"
    if language.words("you").lower() not in text.split():
        return "is not in the second person"
    return find_clash(reply.text or "", language)
