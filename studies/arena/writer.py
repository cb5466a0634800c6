"""The model that writes messages and advice, and the files of messages of a user.

The user's files: messages, votes of people on pairs of them, and problems in which a message is needed.

Each is a table with commas (CSV), or one JSON object a line (.jsonl):

    messages   message; may have id (default: m1, m2, ...) and aim (what it is meant to achieve; one aim for all messages)
    votes      voter, first, second (ids of messages, in the order in which they were shown), choice (first, second or tie; empty
               for a vote that is missing)
    problems   aim; may have id (default: p1, p2, ...) and situation

Messages that are meant to persuade: who writes them, and how persuasive a person finds one.

A writer has no persona. It writes a message, gives advice on how to write one, or writes a message anew (more persuasive, or in
other words). A person rates a message from 0 to 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.language import Language, language_of_study
from parley.agents.persuasion import Reader
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.agents.topic import load_topic
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PAGE = "studies/arena/README.md"
FEWEST_MESSAGES = 2
SHARES = {"first": 1.0, "second": 0.0, "tie": 0.5}


class MessageSet(NamedTuple):
    """Messages by id, and their aim ("" if the file does not say it)."""

    texts: dict[str, str]
    aim: str = ""


def read_messages(path: Path) -> MessageSet:
    """Return the messages of a file. Errors: UserError for a file that does not fit the schema."""
    table = read_table(path, ["message"], PAGE)
    ids = _ids(table, path, "m")
    aims = sorted(set(table["aim"]) - {""}) if "aim" in table else []
    if len(aims) > 1:
        raise UserError(
            f"{path} has {len(aims)} aims: compare only messages with the same aim, each aim in its own file"
        )
    if empty := [name for name, text in zip(ids, table["message"], strict=True) if not text]:
        raise UserError(f"{path}: the message {empty[0]} is empty: write it, or leave out the row")
    if len(ids) < FEWEST_MESSAGES:
        raise UserError(f"{path} has {len(ids)} message: give at least {FEWEST_MESSAGES}")
    return MessageSet(dict(zip(ids, table["message"], strict=True)), aims[0] if aims else "")


def read_votes(path: Path, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per vote: member (the voter), first, second, share (1, 0.5, 0; NaN: missing), reason.

    ids: the messages. Errors: UserError for a file that does not fit, and for a message that is not one of them.
    """
    table = read_table(path, ["voter", "first", "second", "choice"], PAGE, filled=("voter",))
    for row in table.itertuples():
        where = f"{path}, row {row.Index}"
        for name in (str(row.first), str(row.second)):
            if name not in ids:
                raise UserError(f"{where}: {unknown_name('message', name, ids)}")
        if row.first == row.second:
            raise UserError(f"{where} compares the message {row.first} with itself: leave out the row")
        if row.choice and row.choice not in SHARES:
            raise UserError(f"{where}: choice is {row.choice}, but must be {', '.join(SHARES)} or empty")
    share = table["choice"].map(SHARES).astype("float64")
    reason = table["choice"].map(lambda choice: "" if choice else "missing")
    return pd.DataFrame(
        {"member": table["voter"], "first": table["first"], "second": table["second"], "share": share, "reason": reason}
    ).reset_index(drop=True)


def read_problems(path: Path) -> dict[str, Aim]:
    """Return problems by id. Errors: UserError for a file that does not fit the schema."""
    table = read_table(path, ["aim"], PAGE)
    ids = _ids(table, path, "p")
    if empty := [name for name, aim in zip(ids, table["aim"], strict=True) if not aim]:
        raise UserError(f"{path}: the aim of {empty[0]} is empty: write what the message is to achieve")
    situations = table["situation"] if "situation" in table else [""] * len(table)
    return {name: Aim(aim, text) for name, aim, text in zip(ids, table["aim"], situations, strict=True)}


def _ids(table: pd.DataFrame, path: Path, letter: str) -> list[str]:
    ids = list(table["id"]) if "id" in table else [f"{letter}{number}" for number in range(1, len(table) + 1)]
    if wrong := [name for name in ids if not name or ids.count(name) > 1]:
        raise UserError(f"{path}: the id {wrong[0]!r} is empty or comes twice: give every row its own id")
    if wrong := [name for name in ids if "/" in name]:
        raise UserError(
            f"{path}: the id {wrong[0]!r} has a slash, which separates a message from its rewritings: write an id "
            "without a slash"
        )
    return ids


HERE = Path(__file__).parent
PERSUASIVE, PARAPHRASE = "persuasive", "paraphrase"
"""How a message is written anew."""
_NUMBER = re.compile(r"^\s*+(?:\d+[.):]|[-*•])\s*+")


@dataclass(frozen=True)
class Aim:
    """What a message is meant to achieve, in words that follow "this aim:" (to convince people that taxes are fair).

    situation: in which it is written; "" for none.
    """

    text: str
    situation: str = ""


class Writer(NamedTuple):
    """A writer of messages of at most `words` words in a language."""

    language: Language
    words: int = 60
    temperature: float = 1.0

    @property
    def prompts(self) -> Language:
        """The prompts and short texts of the study."""
        return language_of_study(self.language, HERE)

    @property
    def ways(self) -> list[str]:
        """The ways in which advice is asked for."""
        return list(self.prompts.entry("persuade_ways"))

    def compose_message(self, aim: Aim, seed: int, advice: str = "") -> Request:
        """Ask for a message. advice: a piece of advice that it is to follow; "" for none."""
        advised = "\n\n" + self.prompts.fill("persuade_advice", advice=one_line(advice)) if advice else ""
        slots = {"words": self.words, "aim": aim.text, "situation": self._situation(aim), "advice": advised}
        facts: Facts = {"claim": aim.text, "words": self.words}
        facts |= {"advice": advice} if advice else {}
        return self._request("persuasion_message", slots, seed, "message", facts)

    def compose_advice(self, aim: Aim, way: str, count: int, seed: int) -> Request:
        """Ask for `count` pieces of advice, in one of the `ways`."""
        slots = {"aim": aim.text, "situation": self._situation(aim), "count": count, "way": way}
        return self._request("persuasion_advice", slots, seed, "advice", {"claim": aim.text, "count": count})

    def compose_rewriting(self, aim: str, message: str, form: str, seed: int) -> Request:
        """Ask to write a message anew, PERSUASIVE or as a PARAPHRASE, with about as many words as it has."""
        text = one_line(message)
        words = len(text.split())
        slots = {"aim": aim, "message": text, "words": words}
        facts: Facts = {"claim": aim, "statement": text, "form": form, "words": words}
        return self._request(f"persuasion_{form}", slots, seed, "rewriting", facts)

    def _situation(self, aim: Aim) -> str:
        stated = self.prompts.fill("persuade_situation", situation=one_line(aim.situation))
        return f"\n\n{stated}" if aim.situation else ""

    def _request(self, prompt: str, slots: dict[str, object], seed: int, purpose: str, facts: Facts) -> Request:
        system = self.prompts.prompt("persuasion_writer").text
        messages = (Message("system", system), Message("user", self.prompts.prompt(prompt).fill(**slots)))
        tokens = 4 * max(self.words, facts.get("words", 0))
        return Request(messages, Sampling(self.temperature, tokens), seed, (), purpose, facts=facts)


def aim_of_topic(slug: str) -> str:
    """Return the aim to convince people of the claim of a topic. Errors: UserError for an unknown topic."""
    topic = load_topic(slug)
    return language_of_study(topic.language, HERE).fill("persuade_aim", claim=topic.claim)


def rating_scale(language: Language) -> Scale:
    """Return the scale of how persuasive a message is: 0 to 10."""
    study_language = language_of_study(language, HERE)
    ends = {0: study_language.words("persuade_low"), 10: study_language.words("persuade_high")}
    return Scale("persuasiveness", NUMERIC, 0, 10, ends)


def compose_rating(reader: Reader, aim: str, message: str, seed: int) -> Request:
    """Ask how persuasive a message is, on `rating_scale`."""
    scale, text = rating_scale(reader.language), one_line(message)
    anchors = scale.name_points(scale.points, *map(reader.language.words, ("means", "and")))
    slots = {"low": scale.low, "high": scale.high, "anchors": anchors}
    prompt = language_of_study(reader.language, HERE).prompt("persuasion_rating")
    facts: Facts = {"claim": aim, "statement": text, "scale": scale}
    return reader.request(prompt.fill(aim=aim, message=text, **slots), seed, scale.answers, "persuasiveness", facts)


def read_persuasiveness(reply: Reply, language: Language) -> Reading:
    """Return a rating, 0 to 10: the mean of a distribution where the model tells it; None with the reason."""
    if reply.failure:
        return Reading(None, reply.failure.name)
    scale = rating_scale(language)
    return Reading(scale.expected(reply.answers)) if reply.answers else read_rating(reply.text, scale, "strict")


def read_advice(reply: Reply, count: int) -> tuple[str, ...]:
    """Return the pieces of advice of a reply, one a line without its number, `count` at most; none of a failure or a refusal."""
    if reply.text is None or is_refusal(reply.text):
        return ()
    lines = [_NUMBER.sub("", line).strip() for line in reply.text.splitlines()]
    return tuple([line for line in lines if line][:count])
