"""A corrector: it answers posts that spread false claims, with evidence or without. It has no persona and no memory.

alone      it writes a reply from the post alone
evidence   it is shown passages, and is asked to quote them word for word, each with its number (RARG, 2024)
replaced   it writes alone; then it is shown the draft and passages, and is asked to keep how the draft persuades and to
           replace its claims by quotations (PersuaBot, 2024)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.agents.datafiles import build_from_table, read_toml
from parley.agents.evidence import Passage, listed
from parley.agents.language import Language, language_of_study, load_language
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.speech import Speech
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PURPOSE = "correction"
HERE = Path(__file__).parent
SHIPPED = HERE / "data"
FEWEST_POSTS = 2


@dataclass(frozen=True)
class Post:
    """A post with a false claim. evidence: sources of the passages that answer it (`census.txt 2`), if they are known."""

    text: str
    evidence: tuple[str, ...] = ()


class PostSet(NamedTuple):
    """Posts, the language in which they are answered, and the folder of evidence next to their file."""

    posts: tuple[Post, ...]
    language: Language
    folder: Path


class Corrector(NamedTuple):
    """A corrector that writes at most `words` words. adapter: that of the model which writes; "" for none."""

    language: Language
    words: int = 60
    temperature: float = 1.0
    adapter: str = ""

    def compose(self, post: str, passages: Sequence[Passage], seed: int, draft: str = "") -> Request:
        """Ask for a reply to a post. passages: none for a reply without evidence. draft: one whose claims are to be replaced."""
        prompt = language_of_study(self.language, HERE).prompt
        parts = [prompt("correction_post").fill(post=one_line(post))]
        if passages:
            parts.append(self.language.prompt("correction_passages").fill(passages=listed(passages)))
        if draft:
            parts.append(prompt("correction_draft").fill(draft=one_line(draft)))
        ask = "correction_replace" if draft else "correction_quote" if passages else "correction_alone"
        parts.append(prompt(ask).fill(words=self.words))
        facts: Facts = {"post": post, "passages": [passage.text for passage in passages], "words": self.words}
        facts |= {"draft": draft} if draft else {}
        facts["language"] = self.language.code
        messages = (Message("system", prompt("correction").text), Message("user", "\n\n".join(parts)))
        sampling = Sampling(self.temperature, 4 * self.words)
        return Request(messages, sampling, seed, (), PURPOSE, adapter=self.adapter, facts=facts)


def read_correction(reply: Reply) -> Speech:
    """Return a reply on one line, or None with the reason: the name of a failure, `empty` or `refusal`."""
    if reply.text is None:
        return Speech(None, reply.failure.name if reply.failure else "empty")
    text = one_line(reply.text)
    if not text:
        return Speech(None, "empty")
    return Speech(None, "refusal") if is_refusal(text) else Speech(text, None)


def load_posts(name: str) -> PostSet:
    """Read posts: those of Parley by their language (`en`, `de`), or a .toml file.

    Errors: UserError for a file that is missing or broken, for an empty post, and for fewer than two posts.
    """
    path = Path(name) if name.endswith(".toml") else SHIPPED / name / "posts.toml"
    if not name.endswith(".toml") and not path.is_file():
        shipped = ", ".join(sorted(folder.name for folder in SHIPPED.iterdir()))
        raise UserError(f"there are no posts named {name!r}: give one of {shipped}, or the path of a .toml file")
    values = read_toml(path)
    tables = values.get("posts", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{path}: posts must be tables: begin each with [[posts]]")
    if unknown := sorted(values.keys() - {"posts", "language"}):
        raise UserError(f"{path} has an unknown key {unknown[0]}: use only language and [[posts]]")
    posts = tuple([build_from_table(Post, table, f"{path}, post {place}") for place, table in enumerate(tables, 1)])
    if empty := [place for place, post in enumerate(posts, 1) if not post.text.strip()]:
        raise UserError(f"{path}: the text of post {empty[0]} is empty: write the post, or leave it out")
    if len(posts) < FEWEST_POSTS:
        raise UserError(f"{path} has {len(posts)} posts: give at least {FEWEST_POSTS}, each under [[posts]]")
    return PostSet(posts, load_language(str(values.get("language", "en"))), path.parent / "evidence")
