"""Writing personas: the meta-prompt, and what is accepted as a backstory.

The wording of the meta-prompt (prompts/backstory.txt) is our own: Taubenfeld et al. show theirs only as an image. It asks
for Pew-style positions on every topic, one persona covering all of them, at temperature 1.0 (their section 4.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

from agents.datafiles import HERE, read_toml
from agents.topic import PROMPTS, load_topic, slugs
from llm.driver import ask, drive
from llm.errors import UserError, unknown
from llm.randomness import derive
from llm.request import Backend, Message, Reply, Request, Sampling
from llm.template import prompt

BACKSTORY_TOKENS = 400
ATTEMPTS = 3


def names(party: str) -> list[str]:
    """The first names kept for a party (agents/names.toml). Errors: UserError on an unknown party."""
    known = read_toml(HERE / "names.toml")
    if party not in known:
        raise unknown("party", party, known)
    return list(known[party])


def recruit(party: str, name: str, seed: int) -> Generator[tuple[Request, ...], tuple[Reply, ...], str]:
    """A conversation that returns one backstory. Errors: UserError after ATTEMPTS replies that cannot be used."""
    for attempt in range(ATTEMPTS):
        reply = yield from ask(_compose(party, name, derive(seed, "backstory", party, name, attempt)))
        problem = _problem(reply, party, name)
        if problem is None:
            return " ".join((reply.text or "").split())
    raise UserError(f"no usable backstory for {name} ({party}) in {ATTEMPTS} replies; the last one {problem}")


def write_personas(party: str, folder: Path, backend: Backend, model: str, seed: int) -> Path:
    """Recruit every name of a party and write `<folder>/<party>.toml`. Errors: UserError when it is there already."""
    path = folder / f"{party}.toml"
    if path.exists():
        raise UserError(f"{path} is there already; give another --out")
    known = names(party)
    stories = drive([recruit(party, name, seed) for name in known], backend)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(to_toml(party, dict(zip(known, stories, strict=True)), model), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def to_toml(party: str, stories: dict[str, str], model: str) -> str:
    """The personas of a party as the text of a persona file."""
    head = f"# Personas of a {party.title()}, written by {model} to agents/prompts/backstory.txt (python run.py personas).\n"
    return head + "".join(
        f"\n[[persona]]\nname = {_quoted(name)}\nbackstory = {_quoted(story)}\n" for name, story in stories.items()
    )


def _quoted(text: str) -> str:
    """A TOML string. It is a JSON one but for two things: no surrogate pairs (an emoji stands as it is), no bare DEL."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def _compose(party: str, name: str, seed: int) -> Request:
    topics = [topic for slug in slugs() if (topic := load_topic(slug)).in_backstories]
    problems = ", ".join(topic.title for topic in topics if topic.axis == "severity")
    proposals = ", ".join(
        f"a ban on {topic.title.removeprefix('banning ')}" for topic in topics if topic.axis == "agreement"
    )
    text = prompt(PROMPTS, "backstory").fill(party=party.title(), name=name, problems=problems, proposals=proposals)
    return Request((Message("user", text),), Sampling(1.0, BACKSTORY_TOKENS), seed, (), "backstory")


def _problem(reply: Reply, party: str, name: str) -> str | None:
    text = (reply.text or "").lower()
    if not text.strip():
        return f"failed ({reply.failure.name if reply.failure else 'empty'})"
    if not re.search(rf"\b{re.escape(name.lower())}\b", text):
        return "does not name the person"
    return None if "you" in text.split() else "is not in the second person"
