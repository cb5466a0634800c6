"""The page of a qualification: the verdict, what was asked, the table, and a figure of the answers by planted position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.planted_people import planted_people
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import Column, count_table, estimate, number, uncorrected
from parley.analysis.qualify.kept import FILE, Qualification
from parley.analysis.qualify.measures import planted_order, values
from parley.analysis.qualify.questions import ASKED, UNSTATED, WAYS, Battery
from parley.analysis.qualify.verdict import OwnVoice, ends_sentence, headline, way_sentence, way_verdicts
from parley.analysis.reply_faults import improbable_ways
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST
from parley.llm.backends import identity_spec

NAME = "qualify"
ORDER: Mapping[str, Column] = {
    "way": "way", "form": "form", "answers": "answers", "missing": "missing", "pairs": "pairs",
    "ranked right": estimate("right"), "P of the null": number("p", 4), "ends apart": estimate("ends"),
    "without a position": number("unstated"), "covered": number("covered"),
}  # fmt: skip

DEBATE = (
    "Two people, one of each party, talk from opposite ends of the axis. The personas of both people state a name, a "
    "party and the position, and nothing else. The folder `debate` has the transcript."
)


def write_qualification(
    answers: pd.DataFrame,
    battery: Battery,
    spec: str,
    folder: Path,
    debate: Sequence[str] = (),
    lines: OwnVoice | None = None,
) -> tuple[Path, str]:
    """Write qualify.md, its table (order) and its figure; return the path of the page and the verdict in one sentence.

    debate: sentences on the short debate (debate.py). lines: whether its lines go with ratings (own_voice.py).
    """
    order, label = planted_order(answers, battery.seed), disclaimers.spec_label(identity_spec(spec))
    verdicts = way_verdicts(order)
    verdict = headline(label, verdicts)
    report = Report(folder, NAME, f"Can {label} play people?")
    report.data(order=order)
    Qualification(tuple(verdicts), len(battery.topics), battery.short, lines).write(folder / FILE)
    report.add(verdict, way_sentence(verdicts), ends_sentence(verdicts), *improbable_ways(order))
    report.disclaim_models(spec)
    figure = answers_figure(answers, label)
    report.figure(figure, "positions", "Mean answer by the position that the persona states, for each way of asking")
    if debate:
        report.section("A short debate", DEBATE, "\n".join(f"- {line}" for line in debate))
    blocks = int(order["blocks"].max())
    few = (
        ""
        if blocks >= FEWEST
        else f" With {blocks} blocks there are no intervals; the full check (without --short) has more topics."
    )
    report.section(
        "What was asked",
        "Each person states one of four positions on a topic, from the low end of the topic's axis to the high end, "
        "and nothing else about the topic. The position is in the words of the survey or in other words. People of "
        "one topic and wording (a block) have the same name. A pair is ranked right if the person with the higher "
        "position has the higher answer. Equal answers count half, so a model that ignores personas ranks 50% right. "
        "P is how often random exchanges of answers within blocks rank at least as many pairs right. Brackets are 95% "
        f"intervals over blocks.{few} *Covered* is the probability of all allowed answers.",
    )
    person = planted_people(load_topic(battery.topics[0]), battery.seed)[0]
    report.add(f"An example: {person.backstory}")
    report.table(order, ORDER)
    report.add(uncorrected(order))
    lost = answers["reason"][answers["attitude"].isna() & answers["mean"].isna()]
    report.missing(len(lost), len(answers), "answers are missing", count_table(lost))
    return report.write(), verdict


def answers_figure(answers: pd.DataFrame, label: str) -> Figure:
    """Draw the answers against the planted position: a panel for each way, a line for each block, the mean in bold."""
    ways = [way for way in WAYS if (answers["way"] == way).any()]
    caption = f"Each thin line is one topic and wording; the thick line is their mean. {label}"
    with new_figure(5.6, 2.6, caption) as figure:
        axes = figure.subplots(1, len(ways), sharey=True, squeeze=False)[0]
        for axis, way in zip(axes, ways, strict=True):
            way_answers = answers[(answers["way"] == way) & answers["form"].isin([ASKED, UNSTATED])]
            stated = way_answers[way_answers["form"] == ASKED]
            grid = stated.assign(value=values(stated)).pivot(index="block", columns="level", values="value")
            places = np.arange(grid.shape[1])
            for line in grid.to_numpy(dtype=float):
                axis.plot(places, line, color="#bbbbbb", linewidth=0.8, marker=".", markersize=3)
            axis.plot(places, grid.mean().to_numpy(), color=ESTIMATE, linewidth=2, marker="o", markersize=4)
            axis.set_title(f"asked in {way}", fontsize=7)
            axis.set_xticks(places, ["low end", *[""] * (len(places) - 2), "high end"], fontsize=7)
            axis.set_xlabel("position that the persona states", fontsize=7)
            axis.set_ylim(-0.3, 10.3)
        axes[0].set_ylabel("answer, 0 to 10", fontsize=7)
    return figure
