"""The calls of a run: which were asked, of which model, which model replied, and what they used."""

from __future__ import annotations

import json

import pandas as pd

from parley.agents.fact_checker import PURPOSE as CHECK
from parley.analysis import disclaimers
from parley.analysis.formatting import count_table
from parley.analysis.tables import Tables
from parley.llm.prices import Account
from parley.llm.request import Usage
from parley.model.interventions import parse_intervention
from parley.model.interventions.fact_check import FactCheck
from parley.model.missing_replies import OUTGROWN, SHORTER
from parley.model.scenario import REPRESENTATIVE

MOST_NAMES = 5
"""Names of models that are written out: a server may send another name with every reply."""


def asked_of_model(calls: pd.DataFrame) -> pd.DataFrame:
    """Return the calls that the model answered: of those with the same key only the first (llm/journal.py)."""
    return calls[calls["drawn"] == 0].drop_duplicates("key")


def used_tokens(tables: Tables) -> dict[Account, Usage]:
    """Return the tokens by account (llm/prices.py)."""
    paid = asked_of_model(tables.calls)
    cached = paid["cached_tokens"].clip(upper=paid["prompt_tokens"])
    parts = paid.assign(voice=voices_of(tables)[paid.index], served=paid["served"].fillna(""), cached=cached)
    sums = parts.groupby(["voice", "served", "batch"])[["prompt_tokens", "completion_tokens", "cached"]].sum()
    used: dict[Account, Usage] = {}
    for (voice, served, batch), prompt, completion, reused in sums.itertuples():
        account = Account(str(voice), str(served), False, bool(batch))
        used[account] = Usage(int(prompt - reused), int(completion))
        if reused:
            used[account._replace(cached=True)] = Usage(int(reused), 0)
    return used


def voices_of(tables: Tables) -> pd.Series:
    """Return the voice of each call: the seat or party if it has its own model, else "". An intervention may change the model."""
    with_own_model = set(disclaimers.own_models(tables.header))
    agents = tables.agents.drop_duplicates("agent").set_index("agent")  # a mediator has one number in every room
    named = agents["seat"].where(
        agents["seat"].isin(with_own_model), agents["party"].where(agents["party"].isin(with_own_model), "")
    )
    calls = tables.calls
    # a representative has the number of its member with a minus
    voices = (
        calls["agent"].map(named).where(calls["agent"] >= 0, REPRESENTATIVE if REPRESENTATIVE in with_own_model else "")
    )
    for change in tables.interventions[tables.interventions["what"] == "model"].itertuples():
        theirs = calls["agent"].isin(json.loads(change.agents)) & (calls["room"] == change.room)
        voices = voices.mask(theirs & (calls["round"] >= change.round), change.text)
    for spec in tables.header.scenario.get("interventions", ()):
        if spec.get("llm") and spec["kind"] == "fact_check":
            check = parse_intervention(spec)
            assert isinstance(check, FactCheck)
            due = calls["round"].map(check.due).astype(bool) & (calls["purpose"] == CHECK)
            voices = voices.mask(due, check.voice)
    return voices


def model_names(calls: pd.DataFrame) -> pd.Series:
    """Return the model of each call that another model answered than the one with which the run began."""
    served = calls["served"].dropna()
    common = served.value_counts().index[:MOST_NAMES]
    return served.where(served.isin(common), "other names")


def mixed_models(tables: Tables) -> str:
    """Return that a server answered with several models, with counts by voice; "" for a run in which it did not."""
    changed = tables.calls[tables.calls["served"].notna()]
    if changed.empty:
        return ""
    voices, names = voices_of(tables), model_names(tables.calls)
    counts = [
        f"{count_table(theirs)} of {int((voices == voice).sum()):,} calls" + (f" of {voice}" if voice else "")
        for voice, theirs in names.groupby(voices[names.index])
    ]
    return (
        f"The server changed the model during the run, the first time in round {changed['round'].iloc[0]}. Replies that did not "
        f"come from the first model: {'; '.join(counts)}. So the results are a mixture of models. Use a server that keeps one "
        "model, or name a dated version of the model, and repeat the run in another folder."
    )


def outgrown(tables: Tables) -> str:
    """Return from which round on debates no longer fitted into the model's context; "" where they always did."""
    frames = [frame[frame["reason"] == OUTGROWN] for frame in (tables.utterances, tables.attitudes)]
    if not (count := sum(map(len, frames))):
        return ""
    first = min(int(frame["round"].min()) for frame in frames if len(frame))
    return (
        f"From round {first} on, {count:,} replies and ratings are missing because the debate no longer fits into the model's "
        f"context ({OUTGROWN}). Replies and ratings are missing at the end of debates, not at random: {SHORTER}."
    )
