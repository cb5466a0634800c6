"""The report of a representative trained on outcomes.

The unit is the group (session) for payoffs, the participant for likelihoods, and the training for the null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.deliberation.position_change import NO_MEAN, ClusteredMean, clustered_mean
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, estimate, number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, too_few, with_interval
from parley.analysis.statistics.null import against_nulls, null_line
from parley.analysis.unknown import clause
from parley.studies.representatives.likelihood import against, per_critique
from parley.studies.representatives.measures import OWN, STRANGER
from parley.studies.representatives.outcomes import BEFORE, Outcome, OutcomePlan
from parley.studies.representatives.payoffs import open_payoff, scored_by
from parley.studies.representatives.pipeline import DatasetBuilder
from parley.studies.representatives.representation import describe_split
from parley.studies.representatives.substitution import ALL, MUTE, MUTE_ALL, ONE, TRUE, named
from parley.training.tuning.preferences import SHUFFLED, TRAINED

OWN_CRITIQUE = "log-probability of the person's own critique"
PERSON, NOTHING = "the person's own critique", "no critique"
WHO = {ONE: "one person", ALL: "all people"}
GAINS: Mapping[str, Column] = {
    "represented": "represented", "critiques by": "writer", "payoff": number("payoff"),
    "minus before": estimate("difference"), "groups": "groups", "payoffs missing": "missing",
}  # fmt: skip
LIKELY: Mapping[str, Column] = {
    "critiques by": "writer", "log-probability": estimate("logp"), "minus before": estimate("difference"),
    "gain over a stranger": estimate("gain"), "critiques": "critiques",
}  # fmt: skip
READING = (
    "The people and questions of this test are not in the training data. Brackets hold 95% intervals, over groups (sessions) "
    "for payoffs and over participants for likelihoods. The null is a training on shuffled preferences: a random half of the "
    "pairs is reversed."
)
REWARD = (
    "The scorer that chose the training pairs also scores the test, so the payoff can rise because the text pleases the scorer, "
    "but not the person. Before you believe a gain, have people read the texts, or use another `--payoff`."
)
EVERYBODY = (
    "Each representative was trained for its person alone. When all people have a representative, critiques compete for one "
    "statement, and the mean payoff can rise or fall."
)
STYLE = (
    "The first number of a row is the log-probability of the person's own critique, in nats. If this number falls, the "
    "representative writes less like the person. Gain is the log-probability with the person's own prompt minus that with the "
    "prompt of another participant. With a gain of 0 the representative knows nothing about the person."
)


def gain_table(payoffs: pd.DataFrame, writers: Sequence[str]) -> pd.DataFrame:
    """Return a row per represented (one person, all people) and writer: the mean payoff, and its difference from before.

    payoffs: as of `score_payoffs`. A person in an episode is averaged over its simulations first. Rows of the person's own
    critique and of no critique come last. missing: payoffs that are missing. Intervals are over groups.
    """
    keys = ["session", "episode", "participant"]
    means = payoffs.groupby([*keys, "regime"], sort=False)["value"].mean().unstack("regime")
    sessions = pd.Series(means.index.get_level_values("session"), index=means.index)
    lost = payoffs[payoffs["value"].isna()].groupby("regime").size()
    rows = []
    for kind, mute in ((ONE, MUTE), (ALL, MUTE_ALL)):
        regimes = {name: named(kind, "" if name == BEFORE else name) for name in writers}
        before = means[regimes[BEFORE]]
        for writer, regime in {**regimes, PERSON: TRUE, NOTHING: mute}.items():
            writer_payoffs = means.get(regime, pd.Series(np.nan, index=means.index))
            gain = clustered_mean(writer_payoffs - before, sessions) if writer != BEFORE else None
            mean = clustered_mean(writer_payoffs.where(before.notna()), sessions)
            row: dict[str, Any] = {
                "represented": WHO[kind],
                "writer": writer,
                "payoff": mean.value,
                "groups": mean.clusters,
            }
            row |= {"missing": int(lost.get(regime, 0))} | _ends("difference", gain)
            rows.append(row)
    return pd.DataFrame(rows)


def likely_table(likely: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row per writer: log-probability of the person's critique, its difference from before, gain over a stranger."""
    rows = []
    own_scores = {name: table[table["asked"] == OWN] for name, table in likely.items()}
    for name, table in likely.items():
        change = against(own_scores[name], own_scores[BEFORE]) if name != BEFORE else None
        row: dict[str, Any] = {"writer": name, "critiques": len(own_scores[name])} | _ends(
            "logp", per_critique(own_scores[name])
        )
        row |= _ends("difference", change) | _ends("gain", against(own_scores[name], table[table["asked"] == STRANGER]))
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(name: str, mean: ClusteredMean | None) -> dict[str, float]:
    value, low, high, _, units = mean or NO_MEAN
    return with_interval(name, value, (low, high)) | {f"{name}_units": units}


def findings(gains: pd.DataFrame, likely: pd.DataFrame) -> Iterator[str]:
    """Yield what the training did to payoffs with one person and with all represented, and to likeness; each with its null."""
    for kind, who in WHO.items():
        writer_rows = gains[gains["represented"] == who].set_index("writer")
        about = "one person is represented" if kind == ONE else "all are represented"
        yield f"{_change_line('payoff', writer_rows.loc[TRAINED], 'group')} ({about})."
        yield _null_line("payoff", writer_rows)
    writer_rows = likely.set_index("writer")
    yield f"{_change_line(OWN_CRITIQUE, writer_rows.loc[TRAINED], 'participant')}."
    yield _null_line("log-probability", writer_rows)


def _null_line(what: str, writer_rows: pd.DataFrame) -> str:
    """Return how the change compares with those of trainings on shuffled preferences. writer_rows: a row per writer."""
    shuffled = [name for name in writer_rows.index if str(name).startswith(SHUFFLED)]
    nulls = writer_rows.loc[shuffled, "difference"]
    null_result = against_nulls(float(writer_rows.loc[TRAINED, "difference"]), nulls, "preferences")
    return null_line(
        f"change of the {what}", null_result, nulls.tolist(), "preferences", "representative", percent=False
    )


def _change_line(what: str, row: pd.Series, unit: str) -> str:
    change, low, high = (float(row[name]) for name in ("difference", "difference_low", "difference_high"))
    if np.isnan(change):
        return f"It is unknown whether the {what} changed, because no value"
    size = amount((change, low, high), HIGHER, "")
    if np.isnan(low):
        reason = too_few(unit) if row["difference_units"] < FEWEST else NO_VARIATION
        return f"After the training the {what} is {size}; whether it changed is unknown, because {clause(reason)}"
    if low > 0 or high < 0:
        return f"After the training the {what} is {size}"
    return f"It is not shown that the {what} changed: after the training it is {size}"


def write_outcomes(builder: DatasetBuilder, plan: OutcomePlan, outcome: Outcome) -> Path:
    """Write outcomes.md, its tables and its figure into the folder of the training; return the page's path."""
    folder = outcome.groups.parent.parent
    gains = gain_table(outcome.payoffs, [BEFORE, *outcome.given])
    likely = likely_table(outcome.likely)
    report = Report(folder, "outcomes", "A representative trained on its person's payoff")
    report.data(gains=gains, likely=likely, tries=outcome.tries)
    report.disclaim_models(plan.spec, plan.how.judge, plan.how.mediator_llm)
    report.add(_setting(builder, plan, outcome), READING, REWARD)
    report.in_short(findings(gains, likely))
    report.section("What people get", EVERYBODY)
    title = "payoff minus before the training"
    points = gains[gains["writer"] != BEFORE].rename(columns={"difference_low": "low", "difference_high": "high"})
    caption = f"On {disclaimers.spec_label(plan.spec)}"
    drawn = dot_plot(points.dropna(subset=["difference"]), ["represented", "writer"], "difference", title, caption)
    report.figure(drawn, "outcomes", "Payoffs by who writes the critiques, minus those before the training")
    report.table(gains, GAINS)
    report.add(f"[{outcome.groups.name}]({outcome.groups.parent.name}/{outcome.groups.name}) has all simulated groups.")
    report.section("Does the representative still write like the person?", STYLE)
    report.table(likely, LIKELY)
    return report.write()


def _setting(builder: DatasetBuilder, plan: OutcomePlan, outcome: Outcome) -> str:
    how, pairs = plan.how, outcome.given[TRAINED]
    margins = ", ".join(
        f"{name} {sum(preference.margin for preference in given) / len(given):+.2f}"
        for name, given in outcome.given.items()
    )
    left = "".join(f"; {reason} {count}" for reason, count in outcome.left_out.items())
    scorer = scored_by(open_payoff(how.payoff), how.judge)
    return (
        f"{plan.spec}, which knows {plan.lesson.knows or 'the base'}, wrote {plan.tries} critiques for each of "
        f"{count_phrase(outcome.tries.groupby(['episode', 'participant']).ngroups, 'training case')}: "
        f"{count_phrase(len(outcome.tries), 'different critique')}. Mediator: {how.mediator} on {how.mediator_llm}. Payoff: "
        f"{how.payoff}, scored by {scorer}. DPO trained on {count_phrase(len(pairs), 'pair')} ({outcome.ties} tie{left}). Mean "
        f"payoff of the chosen critique minus that of the other critique: {margins}. Split: {describe_split(builder.sides)}."
    )
