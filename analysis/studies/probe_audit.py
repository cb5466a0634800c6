"""Is a survey question answered by people or by one voice, and does the order of its answers matter?

Every persona is asked outside of any debate, many times at temperature 1, with the answers listed from low to high, from high to
low, and shuffled. Park, Schoenegger and Zhu 2024 (Behavior Research Methods 56) found that a model gave one "correct" answer with
almost no variance, and other answers when their order was turned round. A survey at temperature 0 would hide both. The unit is
the persona.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from parley.agents.agent import SURVEY_TOKENS
from parley.agents.persona import Persona, all_personas, parties, persona_set
from parley.agents.topic import Probe, answer_order, load_topic
from parley.analysis import disclaimers
from parley.analysis.bootstrap import mean_interval
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.report import Report
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.errors import UserError
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

ORDERS = ("given", "reversed", "shuffled")


@dataclass(frozen=True)
class ProbeAudit:
    """What is asked of whom: `repeats` times with each of ORDERS. temperature 1 lets an answer vary."""

    topic: str
    probe: str = "attitude"
    personas: str = "voters"
    repeats: int = 10
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 2:
            raise UserError("an audit asks at least twice: with one answer each there is no variance within a person")

    @property
    def question(self) -> Probe:
        return load_topic(self.topic).probe(self.probe)

    def people(self) -> list[Persona]:
        """Everybody of the set, without the variants by gender and age."""
        folder = persona_set(self.personas)
        return [one for party in parties(folder) for one in all_personas(party, folder) if not one.variant]


def audit_probe(audit: ProbeAudit, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """A row an answer: persona, party, order, repeat, rating (on the probe's scale; NaN: not read), attitude (0-10), reason.

    Journaled in the folder, and written to answers.csv. Errors: UserError on a folder of another audit.
    """
    with lock_folder(folder):
        check_manifest(
            folder / "audit.json",
            {"llm": identity_spec(spec), **asdict(audit), "question": audit.question.ask("debate")},
            "audit",
        )
        asked = [(one, order, time) for one in audit.people() for order in ORDERS for time in range(audit.repeats)]
        asking = [_answer(audit, *each) for each in asked]
        found = run_journaled(asking, spec, folder, bar, "answers", budget, None, lambda told: told[2] or None)
        rows = [(one.id, one.party, order, time, *told) for (one, order, time), told in zip(asked, found, strict=True)]
        table = pd.DataFrame(rows, columns=["persona", "party", "order", "repeat", "rating", "attitude", "reason"])
        table = table.astype({"rating": "float64", "attitude": "float64"})
        table.to_csv(folder / "answers.csv", index=False)
    return table


def _answer(
    audit: ProbeAudit, one: Persona, order: str, time: int
) -> Conversation[tuple[float | None, float | None, str]]:
    probe, seed = audit.question, derive(audit.seed, "audit", one.party, one.id, order, time)
    messages = (
        Message("system", one.backstory),
        Message("user", probe.ask("debate", answer_order(probe, order, seed))),
    )
    sampling = Sampling(audit.temperature, SURVEY_TOKENS)
    asked = Request(messages, sampling, seed, probe.scale.answers, "survey", probe.prefix, facts=probe.facts)
    reply = yield from ask(asked)
    if reply.failure:
        return None, None, reply.failure.name
    read = probe.read(reply.text)
    return read.value, None if read.value is None else probe.attitude(read.value), read.reason or ""


def spread(found: pd.DataFrame) -> pd.DataFrame:
    """One row an order: people, answers, missing, mean and sd (all answers, 0-10), within (mean variance of a person's answers),
    between (variance of people's own levels: that of their means less within / answers each, at least 0), mode (rating) and its
    share of all answers with interval over people, fixed (share of people who always answer the same).
    """
    return pd.DataFrame(
        [{"order": order, **_spread(part, str(order))} for order, part in found.groupby("order", sort=False)]
    )


def _spread(part: pd.DataFrame, order: str) -> dict[str, float]:
    known = part.dropna(subset=["attitude"])
    people = known.groupby("persona")["attitude"]
    counted = {"people": known["persona"].nunique(), "answers": len(known), "missing": len(part) - len(known)}
    if known.empty:
        return counted
    several = people.count() > 1
    within = float(people.var(ddof=1)[several].mean())
    noise = float((within / people.count()).mean())
    mode = float(known["rating"].mode().iloc[0])
    hits = (known["rating"] == mode).groupby(known["persona"]).mean().to_numpy(dtype=float)
    low, high = mean_interval(hits)
    return counted | {
        "mean": float(known["attitude"].mean()), "sd": float(known["attitude"].std(ddof=1)), "within": within,
        "between": max(float(people.mean().var(ddof=1)) - noise, 0.0), "mode": mode, "share": float(hits.mean()),
        "share_low": low, "share_high": high, "fixed": float((people.nunique()[several] == 1).mean()),
    }  # fmt: skip


def order_effects(found: pd.DataFrame) -> pd.DataFrame:
    """One row each for reversed and shuffled: people (with answers in both orders), effect (points of 0-10 by which their mean
    answer is higher than in the given order) with interval over people, moved (mean size of a person's difference).
    """
    wide = found.groupby(["persona", "order"])["attitude"].mean().unstack().reindex(columns=list(ORDERS))
    rows = []
    for order in ORDERS[1:]:
        gaps = (wide[order] - wide[ORDERS[0]]).dropna().to_numpy(dtype=float)
        ends = mean_interval(gaps)
        value, moved = (float(gaps.mean()), float(np.abs(gaps).mean())) if len(gaps) else (np.nan, np.nan)
        rows.append(
            {"order": order, "people": len(gaps), "effect": value, "low": ends[0], "high": ends[1], "moved": moved}
        )
    return pd.DataFrame(rows)


def write(found: pd.DataFrame, audit: ProbeAudit, spec: str, folder: Path) -> Path:
    """Write audit.md, its tables (spread, orders) and the figure; the path of the first."""
    spreads, orders = spread(found), order_effects(found)
    report = Report(folder, "audit", f"Audit of the probe {audit.probe} on {load_topic(audit.topic).title}")
    report.data(spread=spreads, orders=orders)
    report.add(
        f"{audit.question.ask('debate')}",
        f"Asked of {spec}, {audit.repeats} times a person and order at temperature {audit.temperature}, outside of any debate. "
        "Variances and effects are in points of 0-10; intervals: 95%, over people.",
    )
    report.disclaim_models(spec)
    unread = found["reason"][found["attitude"].isna()]
    report.missing(len(unread), len(found), "answers are missing", count_table(unread))
    report.section("One voice or many?")
    report.table(spreads, SPREAD)
    told = "A person's mean answer with the answers listed otherwise, less that from low to high. In the last column is chance."
    report.section("Does the order matter?", told)
    caption = f"{audit.probe} on {disclaimers.spec_label(spec)}"
    drawn = dot_plot(orders, ["order"], "effect", "effect of the order of the answers (points)", caption)
    report.figure(drawn, "orders", "Effect of the order of the answers")
    report.table(orders, ORDER)
    return report.write()


SPREAD: Mapping[str, Column] = {
    "answers listed": "order", "people": "people", "answers": "answers", "missing": "missing", "mean": "mean", "SD": "sd",
    "variance between people": "between", "within a person": "within", "commonest answer": "mode",
    "its share": estimate("share"), "people who never vary": "fixed",
}  # fmt: skip
ORDER: Mapping[str, Column] = {
    "answers listed": "order", "people": "people", "effect of the order": estimate("effect"),
    "mean size of a person's difference": "moved",
}  # fmt: skip
