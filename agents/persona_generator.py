"""Writing personas: the meta-prompt, and what is accepted as a backstory.

The prompt states the position of the party on each topic, as that of Taubenfeld et al. does (Fig 1a: "includes their positions
on the four controversial topics"). The positions are data (`[positions]` of a topic file); where a party has none, the model
chooses one. The wording of the prompt (prompts/backstory.txt) is our own: theirs is an image. Temperature 1.0, as theirs (4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from parley.agents.backstory_filter import SHARED, find_clash, length_problem, sentences_of, share_of_sentences
from parley.agents.datafiles import HERE, quoted, read_toml, save_text
from parley.agents.persona import Persona
from parley.agents.topic import PROMPTS, Topic, load_topic, topic_names
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

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

    A person who has more than half of SHARED in common with the persons before is written anew, so that in the whole set less
    than SHARED is in common. Errors: UserError after ATTEMPTS rounds.
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
