"""Which of Aristotle's three appeals an utterance makes, by a judge's word: each is asked for by itself, one may hold several."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.scales import LABELLED, Scale, read_rating
from parley.analysis.journaled_calls import check_manifest, open_journal, read_answers
from parley.analysis.tables import Tables
from parley.llm.backends import identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation, ask_all
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

PROMPTS = Path(__file__).parent / "prompts"
APPEALS = {
    "logos": "an appeal to reason: facts, figures, causes, consequences",
    "pathos": "an appeal to feeling: fear, anger, pity, hope, pride",
    "ethos": "an appeal to character: the speaker's own experience, honesty or standing, or that of somebody who is named",
}
ABSENT, PRESENT = "Absent", "Present"
VERDICT = Scale("appeal", LABELLED, 0, 1, {0: ABSENT, 1: PRESENT})
TOKENS = 8
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]


class Tag(NamedTuple):
    """Whether an appeal is made; None with the reason why nobody knows."""

    present: bool | None
    reason: str = ""


def tag_run(tables: Tables, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """A row an utterance: WHO, text, logos, pathos, ethos (1, 0, or NaN), reasons. Journaled in the folder, written to tags.csv.

    Errors: UserError on a folder of another judge; BudgetSpent.
    """
    with lock_folder(folder):
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(PROMPTS.glob("*.txt"))}
        check_manifest(
            folder / "rhetoric.json",
            {"llm": identity_spec(spec), "seed": seed, "appeals": APPEALS, "prompts": texts},
            "tagging",
        )
        with open_journal(open_spec(spec), folder / "tags.sqlite", budget) as journal:
            found = tags(tables, journal, seed, bar, (spec, budget.keep_going))
        found.to_csv(folder / "tags.csv", index=False)
    return found


def tags(
    tables: Tables, backend: Backend, seed: int, bar: Bar, how: tuple[str, bool] = ("the judge", True)
) -> pd.DataFrame:
    """The same without a folder; a turn without words has no tags, and its reason. `how` as in analysis/judge/judging.py."""
    turns = tables.utterances.reset_index(drop=True)
    said = turns[turns["text"].notna()]
    talks = [judge(f"{row.room} {row.iteration}", str(row.text), seed) for row in said.itertuples()]
    with bar("appeals", 0) as progress:
        read_ = read_answers(talks, backend, progress, _why, (how[0], "appeals"), how[1])
    found = pd.Series(read_, index=said.index, dtype="object")
    rows = turns[[*WHO, "text"]].copy()
    for place, appeal in enumerate(APPEALS):
        known = {row: float(one[place].present) for row, one in found.items() if one[place].present is not None}
        rows[appeal] = pd.Series(known, dtype="float64").reindex(turns.index)
    told = {row: ", ".join(dict.fromkeys(tag.reason for tag in one if tag.reason)) for row, one in found.items()}
    rows["reasons"] = pd.Series(told, dtype="object").reindex(turns.index).fillna(turns["reason"]).fillna("")
    return rows


def _why(one: tuple[Tag, ...]) -> str | None:
    """The first reason where none of the appeals is known."""
    return one[0].reason if all(tag.present is None for tag in one) else None


def judge(place: str, text: str, seed: int) -> Conversation[tuple[Tag, ...]]:
    """Ask for each appeal, all at once."""
    replies = yield from ask_all([compose(place, text, appeal, seed) for appeal in APPEALS])
    return tuple([tag(reply) for reply in replies])


def compose(place: str, text: str, appeal: str, seed: int) -> Request:
    """The rules as system message, then the statement (on one line) and the appeal; the speaker is not told."""
    slots = {"statement": " ".join(text.split()), "appeal": appeal, "meaning": APPEALS[appeal]}
    messages = (
        Message("system", prompt(PROMPTS, "judge").fill()),
        Message("user", prompt(PROMPTS, "case").fill(**slots, present=PRESENT, absent=ABSENT)),
    )
    facts: Facts = {"statement": slots["statement"], "appeal": appeal}
    own = derive(seed, "appeal", place, appeal)
    return Request(messages, Sampling(0.0, TOKENS), own, VERDICT.answers, "appeal", facts=facts)


def tag(reply: Reply) -> Tag:
    """The likelier answer of a distribution, else what the reply says in one of the two words; never a guess."""
    if reply.failure:
        return Tag(None, reply.failure.name)
    if reply.answers:
        share = VERDICT.expected(reply.answers)
        return Tag(None, "tie") if share == 0.5 else Tag(share > 0.5)
    found = read_rating(reply.text, VERDICT, "strict")
    if found.value is None or not any(word.lower() in (reply.text or "").lower() for word in VERDICT.answers):
        return Tag(None, found.reason or "no_label")
    return Tag(found.value == 1)
