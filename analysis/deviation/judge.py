"""How far each utterance of a run is from a piece of news, 0-10, by a judge's word. It is not told who speaks, or when."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.scales import NUMERIC, Scale, read_rating
from parley.analysis.journaled_calls import check_manifest, open_journal, read_answers
from parley.analysis.tables import Tables
from parley.llm.backends import identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

PROMPTS = Path(__file__).parent / "prompts"
SCALE = Scale("deviation", NUMERIC, 0, 10, {0: "it says the same", 10: "nothing of the first is left"})
TOKENS = 8
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]
NO_ROLE = "no role"


class Verdict(NamedTuple):
    """A distance (0-10), or None and the reason why nobody knows."""

    value: float | None
    reason: str = ""


def source_of(tables: Tables, run: str) -> str:
    """The first thing that was said from outside. Errors: UserError where nothing was."""
    said = tables.interventions["text"].dropna()
    if said.empty:
        raise UserError(f"{run} has no news that came from outside: give the text with --source")
    return str(said.iloc[0])


def judge_deviation(
    tables: Tables, source: str, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT
) -> pd.DataFrame:
    """A row an utterance: WHO, role, text, deviation (0-10, or NaN), reason. Journaled in the folder, written to verdicts.csv.

    Errors: UserError on a folder of another judge or source; BudgetSpent.
    """
    with lock_folder(folder):
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(PROMPTS.glob("*.txt"))}
        what = {"llm": identity_spec(spec), "seed": seed, "source": source, "prompts": texts}
        check_manifest(folder / "deviation.json", what, "deviation")
        with open_journal(open_spec(spec), folder / "verdicts.sqlite", budget) as journal:
            found = verdicts(tables, source, journal, seed, bar, (spec, budget.keep_going))
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdicts(
    tables: Tables, source: str, backend: Backend, seed: int, bar: Bar, how: tuple[str, bool] = ("the judge", True)
) -> pd.DataFrame:
    """The same without a folder; a turn without words has no verdict, and its reason. `how` as in analysis/judge/judging.py."""
    turns = tables.utterances.reset_index(drop=True)
    said = turns[turns["text"].notna()]
    with bar("deviation", 0) as progress:
        talks = [
            deviation_requests(f"{row.room} {row.iteration}", source, str(row.text), seed) for row in said.itertuples()
        ]
        told = read_answers(talks, backend, progress, _why, (how[0], "verdicts"), how[1])
    found = dict(zip(said.index, told, strict=True))
    roles = tables.characters.set_index("agent")["role"].to_dict()
    rows = turns[WHO].assign(role=[roles.get(agent) or NO_ROLE for agent in turns["agent"]], text=turns["text"])
    known = {row: one.value for row, one in found.items() if one.value is not None}
    rows["deviation"] = pd.Series(known, dtype="float64").reindex(turns.index)
    reasons = pd.Series({row: one.reason for row, one in found.items()}, dtype="object")
    rows["reason"] = reasons.reindex(turns.index).fillna(turns["reason"]).fillna("")
    return rows


def _why(one: Verdict) -> str | None:
    return None if one.value is not None else one.reason


def deviation_requests(place: str, source: str, text: str, seed: int) -> Conversation[Verdict]:
    (reply,) = yield from ask_all([compose(place, source, text, seed)])
    return verdict(reply)


def compose(place: str, source: str, text: str, seed: int) -> Request:
    """The rules as system message, then the news and what was said, each on one line."""
    ends = {"low": SCALE.low, "high": SCALE.high}
    slots = {"source": " ".join(source.split()), "statement": " ".join(text.split()), "anchors": SCALE.anchors}
    messages = (
        Message("system", prompt(PROMPTS, "judge").fill(**ends)),
        Message("user", prompt(PROMPTS, "case").fill(**slots, **ends)),
    )
    facts: Facts = {"source": slots["source"], "statement": slots["statement"], "scale": SCALE}
    own = derive(seed, "deviation", place)
    return Request(messages, Sampling(0.0, TOKENS), own, SCALE.answers, "deviation", facts=facts)


def verdict(reply: Reply) -> Verdict:
    """The mean of a distribution, else the number that is said; never a guess."""
    if reply.failure:
        return Verdict(None, reply.failure.name)
    if reply.answers:
        return Verdict(SCALE.expected(reply.answers))
    found = read_rating(reply.text, SCALE, "strict")
    return Verdict(found.value, found.reason or "")
