"""Do personas answer a survey question as different people or with one voice, and does the order of the answers matter?

Every persona answers outside of any debate, many times at temperature 1, with the answers listed from low to high, from high to
low, and shuffled. Park, Schoenegger and Zhu 2024 (Behavior Research Methods 56) found that a model gave one "correct" answer with
almost no variance, and other answers in the reversed order. A survey at temperature 0 would hide both. The unit is the persona.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.persona import Persona, parties, persona_set
from parley.agents.probe import Probe, answer_order
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.report import Report
from parley.analysis.respondents import respondents
from parley.analysis.statistics.intervals import SHARE
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.table_export import write_csv
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
    """The question, the people, and how often each of them answers it in each of ORDERS. Temperature 1 lets an answer vary."""

    topic: str
    probe: str = "attitude"
    personas: str = "voters"
    repeats: int = 10
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 2:
            raise UserError("an audit needs --repeats 2 or more, because one answer per persona has no variance")

    @property
    def question(self) -> Probe:
        """The survey question. Errors: UserError on an unknown topic or probe."""
        return load_topic(self.topic).probe(self.probe)

    def people(self) -> list[Persona]:
        """Return all respondents of the set."""
        folder = persona_set(self.personas)
        return list(chain.from_iterable(respondents(party, folder) for party in parties(folder)))


def audit_probe(audit: ProbeAudit, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """Return one row per answer: persona, party, order, repeat, rating (on the probe's scale; NaN: missing), attitude (0-10),
    reason.

    The folder keeps a journal and answers.csv. Errors: UserError on a folder of another audit.
    """
    with lock_folder(folder):
        manifest = {"llm": identity_spec(spec), **asdict(audit), "question": audit.question.ask("debate")}
        check_manifest(folder / "audit.json", manifest, "audit")
        trials = list(product(audit.people(), ORDERS, range(audit.repeats)))
        conversations = [_answer(audit, *trial) for trial in trials]
        answers = run_journaled(
            conversations, spec, folder, bar, "answers", budget, None, lambda answer: answer[2] or None
        )
        rows = [
            (person.id, person.party, order, repeat, *answer)
            for (person, order, repeat), answer in zip(trials, answers, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["persona", "party", "order", "repeat", "rating", "attitude", "reason"])
        table = table.astype({"rating": "float64", "attitude": "float64"})
        write_csv(table, folder / "answers.csv")
    return table


def _answer(
    audit: ProbeAudit, person: Persona, order: str, repeat: int
) -> Conversation[tuple[float | None, float | None, str]]:
    """Ask a person once; return rating, attitude and the reason why they are missing."""
    probe, seed = audit.question, derive(audit.seed, "audit", person.party, person.id, order, repeat)
    question = probe.ask("debate", answer_order(probe, order, seed))
    messages = Message("system", person.backstory), Message("user", question)
    sampling = Sampling(audit.temperature, ANSWER_TOKENS)
    reply = yield from ask(
        Request(messages, sampling, seed, probe.scale.answers, "survey", probe.prefix, facts=probe.facts)
    )
    if reply.failure:
        return None, None, reply.failure.name
    read = probe.read(reply.text)
    return read.value, None if read.value is None else probe.attitude(read.value), read.reason or ""


def spread(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per order of the answers.

    people, answers, missing; mean and sd of all answers (0-10); within (mean variance of a person's answers); between (variance
    of people's own levels: that of their means minus within / answers each, at least 0); mode (rating), and its share of all
    answers with its interval over people; fixed (share of people who always give the same answer).
    """
    return pd.DataFrame([{"order": order, **_spread(part)} for order, part in answers.groupby("order", sort=False)])


def _spread(answers: pd.DataFrame) -> dict[str, float]:
    known = answers.dropna(subset=["attitude"])
    people = known.groupby("persona")["attitude"]
    counts = {"people": known["persona"].nunique(), "answers": len(known), "missing": len(answers) - len(known)}
    if known.empty:
        return counts
    several = people.count() > 1
    within = float(people.var(ddof=1)[several].mean())
    noise = float((within / people.count()).mean())
    mode = float(known["rating"].mode().iloc[0])
    shares = (known["rating"] == mode).groupby(known["persona"]).mean().to_numpy(dtype=float)
    return counts | {
        "mean": float(known["attitude"].mean()), "sd": float(known["attitude"].std(ddof=1)), "within": within,
        "between": max(float(people.mean().var(ddof=1)) - noise, 0.0), "mode": mode, **mean_row(shares, "share", "share_", SHARE),
        "fixed": float((people.nunique()[several] == 1).mean()),
    }  # fmt: skip


def order_effects(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row each for reversed and shuffled.

    people (with answers in both orders); effect (points of 0-10 by which their mean answer is higher than in the given order)
    with its interval over people; moved (mean size of a person's difference).
    """
    wide = answers.groupby(["persona", "order"])["attitude"].mean().unstack().reindex(columns=list(ORDERS))
    rows = []
    for order in ORDERS[1:]:
        differences = (wide[order] - wide[ORDERS[0]]).dropna().to_numpy(dtype=float)
        moved = float(np.abs(differences).mean()) if len(differences) else np.nan
        rows.append({"order": order, "people": len(differences), **mean_row(differences, "effect"), "moved": moved})
    return pd.DataFrame(rows)


def write(answers: pd.DataFrame, audit: ProbeAudit, spec: str, folder: Path) -> Path:
    """Write audit.md, its tables (spread, orders) and its figure; return the path of the page."""
    spreads, orders = spread(answers), order_effects(answers)
    report = Report(folder, "audit", f"Audit of the probe {audit.probe} on {load_topic(audit.topic).title}")
    report.data(spread=spreads, orders=orders)
    report.add(
        audit.question.ask("debate"),
        f"Model: {spec}. Each person answers {audit.repeats} times in each order, at temperature {audit.temperature}, outside of "
        "any debate. Variances and effects are in points of 0-10; brackets are 95% confidence intervals over people.",
    )
    report.disclaim_models(spec)
    unread = answers["reason"][answers["attitude"].isna()]
    report.missing(len(unread), len(answers), "answers are missing", count_table(unread))
    report.section("One voice or many?")
    report.table(spreads, SPREAD)
    effect = (
        "A person's mean answer with the answers listed in this order, minus the mean with the answers listed "
        "from low to high. The last column is above 0 by chance alone, because answers vary even if their order has no effect."
    )
    report.section("Does the order matter?", effect)
    caption = f"{audit.probe} on {disclaimers.spec_label(spec)}"
    figure = dot_plot(orders, ["order"], "effect", "effect of the order of the answers (points)", caption)
    report.figure(figure, "orders", "Effect of the order of the answers")
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
