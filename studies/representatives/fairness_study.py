"""The study of fair mediators (`study mediators`): drafts in several orders, and the report.

All replies are journaled in the folder of the study, so a study that was stopped goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.mediators import open_mediator
from parley.analysis.deliberation.episode import Episode, to_line
from parley.analysis.deliberation.position_change import seats_of, sharing_caution
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate, format_p, number
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.judging import Verdict, missing
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import NO_VARIATION, verdict
from parley.analysis.unknown import clause
from parley.llm.backends import check_spec, identity_spec
from parley.llm.errors import UserError
from parley.llm.seeding import derive, digest
from parley.model.scenario_run import lock_folder
from parley.studies.representatives.fairness import UNIT, Draft, estimate_all, sides, with_opinion, write_draft
from parley.studies.representatives.payoff_measures import score_failure
from parley.studies.representatives.payoffs import open_payoff, own_model, scored_by
from parley.studies.representatives.resimulation import check_ballots, check_capacity

NAME, LEVEL = "mediators", 0.05
RESULTS = {
    "coverage": "smaller side minus larger side",
    "order": "moved by the order",
    "first": "read first minus read later",
}
READING = (
    "A session is a group of people and all its questions. Brackets hold 95% intervals over sessions, if there are five "
    "sessions or more. Of many intervals, one in twenty excludes 0 by chance."
)
COVERAGE = (
    "The two sides are the members with positions above 4 and below 4. Rooms with one side, or with sides of equal size, are "
    "left out. p comes from exchanging sides among the members of a session. A draft at the mean of all opinions is nearer to "
    "the larger side, so a difference need not be a fault."
)
ORDER = (
    "The column *equal runs* has the distance between two drafts from the same order, in points of agreement. The column *moved "
    "by the order* has the distance between two drafts from different orders, minus the column *equal runs*. The column *read "
    "first* has a member's agreement if the mediator reads the member's opinion first, minus the agreement if the mediator "
    "reads the opinion later."
)
COLUMNS: Mapping[str, Column] = {
    "mediator": "mediator", "smaller side": number("minority"), "larger side": number("majority"),
    RESULTS["coverage"]: estimate("coverage"), "p": lambda row: format_p(row["coverage_p"]),
    "sessions with sides": "coverage_sessions",
    "equal runs": number("again"), RESULTS["order"]: estimate("order"), RESULTS["first"]: estimate("first"),
    "sessions": "order_sessions",
}  # fmt: skip


@dataclass(frozen=True)
class FairnessStudy:
    """Which mediators are compared, on which model, who says what a draft is worth, in how many orders, draws of each."""

    mediators: tuple[str, ...]
    llm: str = "oracle"
    judge: str = "oracle"
    payoff: str = "judge"
    orders: int = 5
    draws: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for spec in (self.llm, self.judge):
            check_spec(spec)
        if self.orders < 2 or self.draws < 2:
            raise UserError(
                "--orders and --draws must be at least 2, because drafts from different orders are compared with "
                "drafts from the same order"
            )
        for name in self.mediators:
            check_ballots(name)
        if self.payoff == "own":
            raise UserError("members did not rate the new drafts: use --payoff judge, ranking or trained:FOLDER")
        check_capacity(self.payoff, self.orders, self.draws, "--draws")


class Plan(NamedTuple):
    """One draft to write."""

    mediator: str
    episode: Episode
    order: int
    draw: int


def run_fairness(episodes: Sequence[Episode], study: FairnessStudy, desk: CallDesk) -> Path:
    """Write drafts, payoffs and the report; return the path of the page. Errors: UserError on a folder of another study."""
    desk.folder.mkdir(parents=True, exist_ok=True)
    groups = [episode for episode in episodes if len(with_opinion(episode)) > 1]
    if not groups:
        raise UserError("no episode has two opinions: give episodes with the opinions of a group")
    with lock_folder(desk.folder):
        specs = {name: identity_spec(getattr(study, name)) for name in ("llm", "judge")}
        manifest = {**asdict(study), **specs, "episodes": digest(*map(to_line, episodes)).hex()}
        check_manifest(desk.folder / f"{NAME}.json", manifest, "study of mediators")
        plans = [
            Plan(name, episode, order, draw)
            for name in study.mediators
            for episode in groups
            for order in range(min(study.orders, len(with_opinion(episode))))
            for draw in range(study.draws)
        ]
        asking = [
            write_draft(episode, open_mediator(name), order, draw, study.seed) for name, episode, order, draw in plans
        ]
        drafts: list[Draft] = desk.ask(asking, study.llm, "statements", lambda draft: draft.reason)
        payoffs = _score(plans, drafts, study, desk)
    return _write_report(groups, plans, drafts, payoffs, study, desk.folder)


def _score(plans: Sequence[Plan], drafts: Sequence[Draft], study: FairnessStudy, desk: CallDesk) -> pd.DataFrame:
    """Return a row per payoff: the draft, the member and its side, whether it was read first, value, reason."""
    scorer, texts = open_payoff(study.payoff), dict[tuple[str, str], dict[str, None]]()
    for plan, draft in zip(plans, drafts, strict=True):
        texts.setdefault((plan.mediator, plan.episode.id), {}).update({draft.text: None} if draft.text else {})
    episodes = {plan.episode.id: plan.episode for plan in plans}
    seats = [(key, voice) for key in texts for voice in episodes[key[1]].voices]
    asking = [
        scorer.score(episodes[key[1]], voice, list(texts[key]), derive(study.seed, "payoff", key[1]))
        for key, voice in seats
    ]
    scores: list[tuple[Verdict, ...]] = desk.ask(asking, study.judge, "payoffs", score_failure, own_model(scorer))
    score_of = {
        (key, voice.participant, text): score
        for (key, voice), row in zip(seats, scores, strict=True)
        for text, score in zip(texts[key], row, strict=True)
    }
    rows = []
    for (name, episode, order, draw), draft in zip(plans, drafts, strict=True):
        of, none = sides(episode), missing(f"no statement ({draft.reason})")
        for voice in episode.voices:
            who = voice.participant
            score = score_of[(name, episode.id), who, draft.text] if draft.text else none
            about = (name, episode.session, episode.id, who, of[who], order, draw, who == draft.first)
            rows.append((*about, score.value, score.reason))
    columns = ["mediator", "session", "episode", "participant", "side", "order", "draw", "first", "value", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def _write_report(
    groups: Sequence[Episode],
    plans: Sequence[Plan],
    drafts: Sequence[Draft],
    payoffs: pd.DataFrame,
    study: FairnessStudy,
    folder: Path,
) -> Path:
    rows = [
        {"mediator": name, **estimate_all(mediator_payoffs, np.random.default_rng(study.seed))}
        for name, mediator_payoffs in payoffs.groupby("mediator", sort=False)
    ]
    report = Report(folder, NAME, "Fair mediators")
    scorer = open_payoff(study.payoff)
    by = scored_by(scorer, study.judge)
    report.disclaim_models(study.llm, by)
    sessions = count_phrase(len({episode.session for episode in groups}), UNIT)
    report.add(
        f"{count_phrase(len(groups), 'episode')}, {sessions}. Mediators on {study.llm}. Agreement: {study.payoff} "
        f"({scorer.UNIT}), scored by {by}. {study.orders} orders, {study.draws} draws of each.",
        " ".join(filter(None, [READING, sharing_caution(seats_of(groups))])),
    )
    lost = [draft.reason for draft in drafts if draft.text is None]
    report.missing(len(lost), len(drafts), "drafts are missing", count_table(lost))
    unscored = payoffs.loc[payoffs["value"].isna(), "reason"]
    report.missing(len(unscored), len(payoffs), "payoffs are missing", count_table(unscored))
    report.in_short(line for row in rows for line in sentences(row))
    report.section("By mediator", COVERAGE, ORDER)
    points = [
        {"measure": label, "mediator": row["mediator"], "value": row[name], "low": row[f"{name}_low"],
         "high": row[f"{name}_high"]}
        for name, label in RESULTS.items() for row in rows if np.isfinite(row[name])
    ]  # fmt: skip
    if points:
        title, caption = "Whom mediators suit, and what the order of opinions changes", f"Mediators on {study.llm}"
        drawn = dot_plot(pd.DataFrame(points), ["measure", "mediator"], "value", "points of agreement", caption, title)
        report.figure(drawn, NAME, title)
    report.table(rows, COLUMNS)
    statements = [
        (name, episode.id, order, draw, draft.text or "", draft.reason or "", draft.first or "")
        for (name, episode, order, draw), draft in zip(plans, drafts, strict=True)
    ]
    columns = ["mediator", "episode", "order", "draw", "statement", "reason", "first"]
    report.data(
        fairness=pd.DataFrame(rows), payoffs=payoffs, statements=pd.DataFrame(statements, columns=columns)
    )  # fmt: skip
    return report.write()


def sentences(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each result of a mediator; what is unknown has its reason.

    A side is named only where the interval is on one side of 0 and shuffled sides seldom give as large a difference.
    """
    wordings = {
        "coverage": (
            "suits the smaller side better than the larger one",
            "suits the larger side better than the smaller one",
            "does not clearly suit either side",
            "Which side it suits",
        ),
        "order": (
            "changes with the order of opinions", "", "does not clearly change with the order of opinions",
            "What the order changes",
        ),
        "first": (
            "favours the opinion that it reads first",
            "favours opinions that it reads later",
            "does not clearly favour the opinion that it reads first",
            "Whether it favours the opinion that it reads first",
        ),
    }  # fmt: skip
    for name, (above, below, none, unknown) in wordings.items():
        value, low, high, reason = (row[f"{name}{end}"] for end in ("", "_low", "_high", "_reason"))
        head = f"`{row['mediator']}`"
        if reason == NO_VARIATION:
            each = f"{format_estimate(value, None, None)} points in each of {row[f'{name}_sessions']} {UNIT}s"
            yield f"{head}, *{RESULTS[name]}*: {each}."
        elif reason:
            yield f"{head}: {unknown} is unknown, because {clause(reason)}."
        else:
            chance = name == "coverage" and not row["coverage_p"] <= LEVEL
            side = none if chance else verdict(low, high, above, below, none)
            beside = f" (p {format_p(row['coverage_p'])} with shuffled sides)" if name == "coverage" else ""
            yield f"{head} {side}: {format_estimate(value, low, high)} points{beside}."
