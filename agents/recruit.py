"""Writing personas: the meta-prompt, and what is accepted as a backstory.

The wording of the meta-prompt (prompts/backstory.txt) is our own: Taubenfeld et al. show theirs only as an image. It asks
for Pew-style positions on every topic, one persona covering all of them, at temperature 1.0 (their section 4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agents.datafiles import HERE, quoted, read_toml, save
from agents.persona import Persona
from agents.topic import PROMPTS, load_topic, slugs
from llm.driver import Conversation, ask, drive
from llm.errors import UserError, unknown
from llm.randomness import derive
from llm.request import Backend, Message, Reply, Request, Sampling
from llm.template import prompt

BACKSTORY_TOKENS = 400
ATTEMPTS = 3
Problem = Callable[[Reply], str | None]


def names(party: str) -> list[str]:
    """The first names kept for a party (agents/names.toml). Errors: UserError on an unknown party."""
    known = read_toml(HERE / "names.toml")
    if party not in known:
        raise unknown("party", party, known)
    return list(known[party])


def recruit(party: str, name: str, seed: int) -> Conversation[str]:
    """A conversation that returns one backstory. Errors: UserError, see `usable`."""
    return usable(
        lambda attempt: _compose(party, name, derive(seed, "backstory", party, name, attempt)),
        lambda reply: problem_of(reply, name),
        f"{name} ({party})",
    )


def usable(compose: Callable[[int], Request], problem: Problem, who: str) -> Conversation[str]:
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


def write_personas(party: str, folder: Path, backend: Backend, model: str, seed: int) -> Path:
    """Recruit every name of a party and write `<folder>/<party>.toml`. Errors: UserError when it is there already."""
    path = vacant(folder, party)
    known = names(party)
    stories = drive([recruit(party, name, seed) for name in known], backend)
    return save(path, to_toml(party, dict(zip(known, stories, strict=True)), model))


def vacant(folder: Path, party: str) -> Path:
    """Where the personas of a party go. Errors: UserError when there are some already."""
    path = folder / f"{party}.toml"
    if path.exists():
        raise UserError(f"{path} is there already; give another --out")
    return path


def to_toml(party: str, stories: dict[str, str], model: str) -> str:
    """The personas of a party as the text of a persona file."""
    head = f"# Personas of a {party.title()}, written by {model} to agents/prompts/backstory.txt (python run.py personas).\n"
    return head + "".join(entry(Persona("", party, name, story)) for name, story in stories.items())


def entry(person: Persona) -> str:
    """One persona as its table in a persona file."""
    traits = f"gender = {quoted(person.gender)}\n" if person.gender else f"age = {person.age}\n" if person.age else ""
    return f"\n[[persona]]\nname = {quoted(person.name)}\n{traits}backstory = {quoted(person.backstory)}\n"


def _compose(party: str, name: str, seed: int) -> Request:
    topics = [topic for slug in slugs() if (topic := load_topic(slug)).in_backstories]
    problems = ", ".join(topic.title for topic in topics if topic.axis == "severity")
    proposals = ", ".join(
        f"a ban on {topic.title.removeprefix('banning ')}" for topic in topics if topic.axis == "agreement"
    )
    text = prompt(PROMPTS, "backstory").fill(party=party.title(), name=name, problems=problems, proposals=proposals)
    return Request((Message("user", text),), Sampling(1.0, BACKSTORY_TOKENS), seed, (), "backstory")


def problem_of(reply: Reply, name: str) -> str | None:
    """What is wrong with any backstory of this person; None when nothing is."""
    text = (reply.text or "").lower()
    if not text.strip():
        return f"failed ({reply.failure.name if reply.failure else 'empty'})"
    if not re.search(rf"\b{re.escape(name.lower())}\b", text):
        return "does not name the person"
    return None if "you" in text.split() else "is not in the second person"
