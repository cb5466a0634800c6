"""The LLM judge: what a rubric asks, and how a reply is read.

A rubric file has `rules` (the system message; optional), `case` (the question about one item, with `{slots}`) and a scale:
`scale` (the name of a shared scale, or a table), or `answers` (words; the first counts 0). `examples` are scored items, shown as
earlier turns of the chat; with `example`, which says how one is written, they are in the case, at `{examples}`. A judge
gives a number on the scale (the mean of a distribution) or the likelier of the words. Of two texts compared in both orders it
gives 1, 0.5 or 0. A reply that cannot be read is missing, with its reason; it is never a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, cast

import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS, read_number
from parley.agents.datafiles import build_from_table, read_toml
from parley.agents.probe import scale_of_table, scales
from parley.agents.reply_cleaning import one_line
from parley.agents.scales import LABELLED, Reading, Scale, read_rating
from parley.agents.topic import load_topic
from parley.analysis.journaled_calls import check_manifest, open_journal, read_answers
from parley.analysis.table_export import write_csv
from parley.analysis.tables import Tables
from parley.llm.backends import identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.file_cache import read_once
from parley.llm.prompts import Template
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

RUBRICS = Path(__file__).parent / "rubrics"
VERDICTS = "verdicts.sqlite"
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]
PREFERRED, TIED, REJECTED = 1.0, 0.5, 0.0
"""Verdicts on two texts: the tested text is preferred in both orders, in one of them, in none."""
UNASKED = ("no statement", "no opinion", "nothing to compare", "not rated by the participant")
"""The reason of a verdict for which the judge was not asked begins with one of these."""


@dataclass(frozen=True)
class Rubric:
    """What a judge is asked.

    name: is part of every seed. repeats: how often a model without answer probabilities is asked, each time with another seed
    (0: once). both_orders: the item is two texts, compared in both orders. aspects: questions by name, each of
    which replaces {aspect} in the case. example: how an example is written in the case ("": as a turn of the chat); it has
    the slots of an item, {answer}, and {number} if it counts.
    """

    name: str
    case: str
    scale: Scale
    rules: str = ""
    purpose: str = "verdict"
    temperature: float = 0.0
    max_tokens: int = ANSWER_TOKENS
    repeats: int = 0
    both_orders: bool = False
    examples: Sequence[Mapping[str, Any]] = ()
    aspects: Mapping[str, str] = field(default_factory=dict)
    example: str = ""

    def __post_init__(self) -> None:
        for example in self.examples:
            if str(example.get("answer")) not in self.scale.answers:
                raise UserError(
                    f"rubric {self.name}: the answer of the example {example} is not on its "
                    "scale: correct the example in the file"
                )
        if self.repeats > 1 and (self.both_orders or self.scale.kind == LABELLED):
            raise UserError(
                f"rubric {self.name}: only numeric answers can be averaged over repeated calls; set --calls 1"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its verdicts: its aspects, or its name."""
        return tuple(self.aspects) or (self.name,)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of a verdict."""
        return float(self.scale.low), float(self.scale.high)

    def examples_on(self, topic: str) -> list[Mapping[str, Any]]:
        """The examples of a topic and those without a topic, the extreme answers first."""
        middle = (self.scale.high - self.scale.low) / 2
        examples = [example for example in self.examples if example.get("topic", topic) == topic]
        return sorted(examples, key=lambda example: -abs(self.scale.answers.index(str(example["answer"])) - middle))


class Item(NamedTuple):
    """One question. Its `key` names its random stream.

    slots: what the prompt must have, named as the facts of llm/purposes.py. offered: what it may have. facts: what the prompt
    states besides its slots. examples: slots and answers shown before. pair: the two texts to compare, the tested one first.
    """

    key: tuple[object, ...]
    slots: Mapping[str, object]
    offered: Mapping[str, object] = {}
    examples: Sequence[tuple[Mapping[str, object], str]] = ()
    pair: tuple[str, str] | None = None
    facts: Mapping[str, object] = {}


class Verdict(NamedTuple):
    """`value` is what the judge says, None if it cannot be read. `reasons` say why replies could not be read, in their order."""

    value: float | None
    reasons: tuple[str, ...] = ()
    readings: tuple[float, ...] = ()

    @property
    def reason(self) -> str:
        return ", ".join(self.reasons)


def missing(reason: str) -> Verdict:
    """A verdict that is missing, and why."""
    return Verdict(None, (reason,))


def _rubric_file(name: str) -> Path:
    return Path(name) if name.endswith(".toml") else RUBRICS / f"{name}.toml"


@read_once(_rubric_file)
def load_rubric(name: str) -> Rubric:
    """A shipped rubric by its name, or a file of your own. Errors: UserError on an unknown name and a broken file."""
    path = _rubric_file(name)
    values = read_toml(path)
    table = values.get("scale", {})
    if words := values.pop("answers", None):
        labels = {str(number): word for number, word in enumerate(words)}
        table = {"kind": LABELLED, "low": 0, "high": len(words) - 1, "labels": labels}
    if isinstance(table, str) and table not in scales():
        raise UserError(
            f"{path} names an unknown scale: use one of {', '.join(scales())}, or describe a scale in a table"
        )
    scale = scales()[table] if isinstance(table, str) else scale_of_table(path.stem, table, str(path))
    texts = {key: str(values.get(key, "")).strip("\n") for key in ("rules", "case", "example")}
    return build_from_table(Rubric, {**values, **texts, "name": path.stem, "scale": scale}, str(path))


def compose(rubric: Rubric, item: Item, seed: int, *again: object) -> Request:
    """The rules as system message, examples as turns of a chat, the item last. again: numbers the questions on one item."""
    scale = rubric.scale
    named = {point: scale.labels[point] for point in scale.points if point in scale.labels}
    offered: dict[str, object] = {"low": scale.low, "high": scale.high, "anchors": scale.anchors}
    offered["scale"] = ", ".join(f"{point} {label}" for point, label in named.items())
    offered["points"] = ", ".join(f"{point} means {label}" for point, label in named.items())
    offered |= item.offered
    messages = [Message("system", _filled(rubric, rubric.rules, {}, offered))] if rubric.rules else []
    if rubric.example:
        offered["examples"] = _written_examples(rubric, item)
    for slots, answer in () if rubric.example else item.examples:
        case = _filled(rubric, rubric.case, {**item.slots, **slots}, offered)
        messages += [Message("user", case), Message("assistant", answer)]
    messages.append(Message("user", _filled(rubric, rubric.case, item.slots, offered)))
    sampling, question_seed = (
        Sampling(rubric.temperature, rubric.max_tokens),
        derive(seed, rubric.name, *item.key, *again),
    )
    facts = cast(Facts, {**item.slots, "scale": scale, **item.facts})
    return Request(tuple(messages), sampling, question_seed, scale.answers, rubric.purpose, facts=facts)


def _written_examples(rubric: Rubric, item: Item) -> str:
    """The examples as a part of the case."""
    example = _template(rubric.name, rubric.example)
    written = []
    for number, (slots, answer) in enumerate(item.examples, 1):
        known = {**item.slots, **slots, "answer": answer, "number": number}
        written.append(example.fill(**{name: value for name, value in known.items() if name in example.slots}))
    return "\n".join(written)


@cache
def _template(name: str, text: str) -> Template:
    return Template(text, f"of the rubric {name}")


def _filled(rubric: Rubric, text: str, needed: Mapping[str, object], offered: Mapping[str, object]) -> str:
    template = _template(rubric.name, text)
    return template.fill(**{name: value for name, value in offered.items() if name in template.slots}, **needed)


def read(rubric: Rubric, replies: Sequence[Reply]) -> Verdict:
    """The mean of the replies to one question that can be read."""
    read_replies = [read_reply(rubric, reply) for reply in replies]
    readings = tuple(reading.value for reading in read_replies if reading.value is not None)
    reasons = tuple(reading.reason for reading in read_replies if reading.reason is not None)
    return Verdict(fmean(readings) if readings else None, reasons, readings)


def read_reply(rubric: Rubric, reply: Reply) -> Reading:
    """A number on the scale, or the likelier of the answers; None with the reason. Equally likely answers are a `tie`."""
    scale = rubric.scale
    if reply.failure:
        return Reading(None, reply.failure.name)
    if reply.answers and not rubric.both_orders and scale.kind != LABELLED:
        return Reading(scale.expected(reply.answers))
    if reply.answers:
        best, second = sorted((reply.answers[answer] for answer in scale.answers), reverse=True)[:2]
        likely = [
            point for point, answer in zip(scale.points, scale.answers, strict=True) if reply.answers[answer] == best
        ]
        return Reading(None, "tie") if best == second else Reading(float(likely[0]))
    text = reply.text or ""
    reading = (
        read_number(text, scale.points) if rubric.both_orders and scale.kind != LABELLED else read_rating(text, scale)
    )
    if scale.kind == LABELLED and not any(word.lower() in text.lower() for word in scale.answers):
        return Reading(None, reading.reason or "no_label")  # a bare number is not one of the words
    return reading


def read_pair(rubric: Rubric, replies: Sequence[Reply]) -> Verdict:
    """What the replies in both orders say together: PREFERRED, TIED or REJECTED; missing if one of them cannot be read."""
    read_replies = [read_reply(rubric, reply) for reply in replies]
    if reasons := [reading.reason for reading in read_replies if reading.reason and reading.reason != "tie"]:
        return Verdict(None, tuple(dict.fromkeys(reasons)))
    choices = tuple(reading.value for reading in read_replies)
    return Verdict(PREFERRED if choices == (1.0, 2.0) else REJECTED if choices == (2.0, 1.0) else TIED)


def judge_item(rubric: Rubric, item: Item | Verdict, seed: int) -> Conversation[Verdict]:
    """Ask the judge about one item. A Verdict is returned as it is, because there is nothing to ask."""
    if isinstance(item, Verdict):
        return item
    if item.pair is not None:
        return (yield from _judge_pair(rubric, item, item.pair, seed))
    first = yield from ask_all([compose(rubric, item, seed, *((0,) if rubric.repeats else ()))])
    if first[0].answers or rubric.repeats < 2:
        return read(rubric, first)
    others = yield from ask_all([compose(rubric, item, seed, call) for call in range(1, rubric.repeats)])
    return read(rubric, (*first, *others))


def _judge_pair(rubric: Rubric, item: Item, pair: tuple[str, str], seed: int) -> Conversation[Verdict]:
    """Both orders: the tested text first, then last. Two equal texts tie without a question."""
    if one_line(pair[0]) == one_line(pair[1]):
        return Verdict(TIED)
    requests = []
    for place, (first, second) in enumerate((pair, pair[::-1])):
        texts = {"first": one_line(first), "second": one_line(second)}
        facts = {**item.facts, "candidates": list(texts.values())}
        ordered = item._replace(slots={**item.slots, **texts}, facts=facts)
        requests.append(compose(rubric, ordered, seed, place, first, second))
    return read_pair(rubric, (yield from ask_all(requests)))


def undecided(verdict: Verdict) -> str | None:
    """Why a judge that was asked gave no verdict; None also if it was not asked."""
    if verdict.value is not None or verdict.reason.startswith(UNASKED):
        return None
    return (*verdict.reasons, "empty")[0]


class Judge(NamedTuple):
    """An open model that judges, a progress bar, its name in messages, and whether to continue if nothing can be read."""

    backend: Backend
    bar: Bar
    name: str = "the judge"
    keep_going: bool = True

    def judge_items(
        self, rubric: Rubric, items: Sequence[Item | Verdict], seed: int, what: str = "verdicts"
    ) -> list[Verdict]:
        """One verdict per item. Errors: Unreadable if (nearly) none of the first 20 can be read; BudgetSpent."""
        conversations = [judge_item(rubric, item, seed) for item in items]
        with self.bar(what, 0) as progress:
            return read_answers(conversations, self.backend, progress, undecided, (self.name, what), self.keep_going)

    def judge_texts(
        self, rubric: Rubric, rows: pd.DataFrame, seed: int, items: Mapping[str, Callable[[Any], Item]]
    ) -> pd.DataFrame:
        """One row for each of `rows`: a column for each of `items` (NaN: missing), readings, reasons.

        rows: have `text` (NaN: nothing was said; it is not judged) and `reason`. items: functions that make the questions about a
        row. Of a judge that read a text more than once, the columns `NAME_1`, `NAME_2`, ... have each reading (NaN: none).
        """
        spoken = rows[rows["text"].notna()]
        questions = [make(row) for row in spoken.itertuples() for make in items.values()]
        verdicts = self.judge_items(rubric, questions, seed)
        verdict_rows = [verdicts[start : start + len(items)] for start in range(0, len(verdicts), len(items))]
        judged = pd.DataFrame(index=spoken.index)
        for place, name in enumerate(items):
            judged[name] = pd.Series([row[place].value for row in verdict_rows], spoken.index, "float64")
            most = max((len(row[place].readings) for row in verdict_rows), default=0)
            for ask in range(most if most > 1 else 0):
                values = [
                    row[place].readings[ask] if ask < len(row[place].readings) else math.nan for row in verdict_rows
                ]
                judged[f"{name}_{ask + 1}"] = pd.Series(values, spoken.index, "float64")
        judged["readings"] = [sum(len(verdict.readings) for verdict in row) for row in verdict_rows]
        reasons = (dict.fromkeys(verdict.reason for verdict in row if verdict.reason) for row in verdict_rows)
        judged["reasons"] = [", ".join(names) or None for names in reasons]
        judged = judged.reindex(rows.index).astype({"readings": "Int64"})
        return judged.assign(reasons=judged["reasons"].fillna(rows["reason"]).fillna(""))

    def judge_utterances(
        self, rubric: Rubric, tables: Tables, seed: int, items: Mapping[str, Callable[[Any], Item]]
    ) -> pd.DataFrame:
        """One row per utterance: WHO, text, and the columns of `judge_texts`."""
        turns = tables.utterances.reset_index(drop=True)
        return pd.concat([turns[[*WHO, "text"]], self.judge_texts(rubric, turns, seed, items)], axis=1)


def judge_by_rubric(rubric: Rubric, tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """One row per utterance: WHO, text, `rubric.columns` (NaN: missing), readings, reasons.

    The prompt must have the slot `statement`; it may have `topic`, `name` and `party`. If the rubric has aspects, it must have
    `aspect`, and may have `dimension`, the name of the aspect.
    """
    names = tables.agents.set_index(["room", "agent"])["name"]

    def item(aspect: str, row: Any) -> Item:
        topic = load_topic(row.topic)
        examples = [
            ({"statement": example["statement"]}, str(example["answer"])) for example in rubric.examples_on(topic.root)
        ]
        offered = {"topic": topic.title, "name": names[row.room, row.agent], "party": row.party}
        place, slots = f"{row.room} {row.iteration}", {"statement": one_line(str(row.text))}
        if not aspect:
            return Item((place,), slots, offered, examples)
        aspect_slots = slots | {"aspect": rubric.aspects[aspect]}
        named = {"dimension": aspect}
        return Item((place, aspect), aspect_slots, offered | named, examples, facts=named)

    items = {name: partial(item, name) for name in rubric.aspects} or {rubric.name: partial(item, "")}
    return judge.judge_utterances(rubric, tables, seed, items)


@contextmanager
def open_judge(
    rubric: Rubric,
    spec: str,
    folder: Path,
    bar: Bar,
    settings: Mapping[str, Any],
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> Iterator[Judge]:
    """The judge of a folder that keeps every reply: a killed judge continues where it stopped and asks nothing twice.

    Errors: UserError on a folder of another judge, rubric or settings; BudgetSpent (what was answered is kept).
    """
    backend = opened(spec)
    texts: dict[str, Any] = {
        "rules": rubric.rules,
        "case": rubric.case,
        "scale": rubric.scale.anchors,
        "examples": rubric.examples,
    }
    texts |= {"aspects": rubric.aspects} if rubric.aspects else {}
    texts |= {"example": rubric.example} if rubric.example else {}
    with lock_folder(folder):
        check_manifest(folder / f"{rubric.name}.json", {"llm": identity_spec(spec), **settings, **texts}, "judging")
        with open_journal(backend, folder / VERDICTS, budget, ledger) as journal:
            yield Judge(journal, bar, spec, budget.keep_going)


def journaled_verdicts(
    rubric: Rubric,
    spec: str,
    folder: Path,
    bar: Bar,
    seed: int,
    ask: Callable[[Judge], pd.DataFrame],
    budget: Budget = NO_LIMIT,
) -> pd.DataFrame:
    """Return what `ask` returns, journaled in the folder and written to its verdicts.csv. Errors: as `open_judge`."""
    with open_judge(rubric, spec, folder, bar, {"seed": seed}, budget) as judge:
        table = ask(judge)
        write_csv(table, folder / "verdicts.csv")
    return table
