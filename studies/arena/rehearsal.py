"""Rehearse a message: ask for advice, write candidates, try them on an audience, send the best.

Counterpart of Explore-Generate-Simulate (Improving Interpersonal Communication by Simulating Audiences with Language Models,
2023). The choice is then rated by other personas, who had no part in it, because the best of many ratings is too high by chance
(README.md). The unit is the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.language import Language, load_language
from parley.agents.persuasion import Reader, read_message
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, number
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import draw_people, member_name
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence
from parley.llm.driver import Conversation, ask, ask_all
from parley.llm.seeding import derive
from parley.studies.arena.writer import Aim, Writer, compose_rating, read_advice, read_persuasiveness

NO_ADVICE = "none"
AUDIENCE, OTHERS = "audience", "others"
CANDIDATES = ["problem", "candidate", "way", "advice", "text", "reason"]
RATINGS = ["problem", "candidate", "group", "member", "party", "rating", "reason"]


@dataclass(frozen=True)
class Rehearsal:
    """What is rehearsed before whom. problems: aims by id. pieces: of advice in each way. plain: candidates without advice.

    audience: personas that choose; as many others rate the choice.
    """

    problems: Mapping[str, Aim]
    pieces: int = 2
    plain: int = 2
    personas: str = "voters"
    audience: int = 15
    words: int = 60
    temperature: float = 1.0
    seed: int = 0
    language: str = "en"

    @property
    def spoken(self) -> Language:
        """The language of the prompts."""
        return load_language(self.language)

    @property
    def calls(self) -> int:
        """The most calls: for advice, for candidates, and for their ratings by all readers."""
        ways = len(Writer(self.spoken).ways)
        candidates = ways * self.pieces + self.plain
        return len(self.problems) * (ways + candidates * (1 + 2 * self.audience))

    def readers(self) -> dict[str, list[Reader]]:
        """Return the audience that chooses, and others that rate the choice: no one is in both."""
        people = draw_people(self.personas, 2 * self.audience, self.seed)
        readers = [Reader(person, self.spoken, temperature=self.temperature) for person in people]
        return {AUDIENCE: readers[: self.audience], OTHERS: readers[self.audience :]}


class Candidate(NamedTuple):
    """A message for a problem. way: number of the way in which advice was asked for, from 1, or NO_ADVICE."""

    problem: str
    candidate: str
    way: str
    advice: str
    text: str | None
    reason: str


def run_rehearsal(task: Rehearsal, audience: str, writer: str, desk: CallDesk) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return candidates (CANDIDATES) and ratings (RATINGS; NaN: missing). audience, writer: models. Errors: Unreadable."""
    conversations = [explore_and_write(task, name, aim) for name, aim in task.problems.items()]
    written = desk.ask(
        conversations,
        writer,
        "problems",
        lambda many: next((candidate.reason for candidate in many if candidate.reason), None),
    )
    candidates = [candidate for many in written for candidate in many]
    open_ = [candidate for candidate in candidates if candidate.text is not None]
    trials = [
        (candidate, group, reader) for group, many in task.readers().items() for reader in many for candidate in open_
    ]
    rated = [_rate(task, *trial) for trial in trials]
    answers = desk.ask(rated, audience, "ratings", lambda answer: answer[1] or None)
    rows = [
        (candidate.problem, candidate.candidate, group, member_name(reader.person), reader.person.party, *answer)
        for (candidate, group, reader), answer in zip(trials, answers, strict=True)
    ]
    ratings = pd.DataFrame(rows, columns=RATINGS).astype({"rating": "float64"})
    return pd.DataFrame(candidates, columns=CANDIDATES), ratings


def explore_and_write(task: Rehearsal, problem: str, aim: Aim) -> Conversation[list[Candidate]]:
    """Ask for advice in every way, then for one message by each piece of advice, and for `plain` ones without."""
    writer = Writer(task.spoken, task.words)
    explored = yield from ask_all([
        writer.compose_advice(aim, words, task.pieces, derive(task.seed, "advice", problem, place))
        for place, words in enumerate(writer.ways, 1)
    ])  # fmt: skip
    plans: list[tuple[str, str, str]] = [(f"none{place}", NO_ADVICE, "") for place in range(1, task.plain + 1)]
    failed = []
    for way, reply in enumerate(explored, 1):
        pieces = read_advice(reply, task.pieces)
        plans += [(f"way{way}.{place}", str(way), text) for place, text in enumerate(pieces, 1)]
        reason = reply.failure.name if reply.failure else "no_advice"
        for place in range(len(pieces) + 1, task.pieces + 1):
            failed.append(Candidate(problem, f"way{way}.{place}", str(way), "", None, reason))
    replies = yield from ask_all([
        writer.compose_message(aim, derive(task.seed, "candidate", problem, name), text) for name, _, text in plans
    ])  # fmt: skip
    written = [
        Candidate(problem, *plan, speech.text, speech.reason or "")
        for plan, speech in zip(plans, map(read_message, replies), strict=True)
    ]
    return [*written, *failed]


def _rate(task: Rehearsal, candidate: Candidate, group: str, reader: Reader) -> Conversation[tuple[float | None, str]]:
    """Ask a reader how persuasive a candidate is; return the rating, or None and the reason."""
    seed = derive(task.seed, "rating", candidate.problem, candidate.candidate, group, member_name(reader.person))
    request = compose_rating(reader, task.problems[candidate.problem].text, candidate.text or "", seed)
    read = read_persuasiveness((yield from ask(request)), task.spoken)
    return read.value, read.reason or ""


def choices(candidates: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem: the candidate that the audience rates best, and what the others say of it.

    Columns: problem, chosen (id; "" without ratings), way, advice; promised (mean rating by the audience), sent (by the others),
    random (mean of all candidates by advice: the expected rating of a random one, by the others), plain (those without advice),
    best (highest mean of a candidate by the others); over_random, over_plain (sent minus these), advised (random minus plain),
    shrinkage (promised minus sent). NaN where a mean is missing. Among candidates that are rated alike the first is chosen.
    """
    means = ratings.groupby(["problem", "candidate", "group"], sort=False)["rating"].mean().unstack()
    means = means.reindex(columns=[AUDIENCE, OTHERS])
    rows = []
    for problem, problem_candidates in candidates.groupby("problem", sort=False):
        about = problem_candidates.set_index("candidate").join(
            means.xs(problem) if problem in means.index else means.iloc[:0]
        )
        advised, plain = about[about["way"] != NO_ADVICE], about[about["way"] == NO_ADVICE]
        rated = advised[AUDIENCE].dropna()
        chosen = str(rated.idxmax()) if len(rated) else ""
        row = advised.loc[chosen] if chosen else pd.Series({AUDIENCE: np.nan, OTHERS: np.nan, "way": "", "advice": ""})
        scores = {"promised": row[AUDIENCE], "sent": row[OTHERS], "random": advised[OTHERS].mean(), "plain": plain[OTHERS].mean(),
                 "best": advised[OTHERS].max()}  # fmt: skip
        rows.append({"problem": problem, "chosen": chosen, "way": row["way"], "advice": row["advice"], **scores})
    table = pd.DataFrame(rows)
    return table.assign(
        over_random=table["sent"] - table["random"],
        over_plain=table["sent"] - table["plain"],
        advised=table["random"] - table["plain"],
        shrinkage=table["promised"] - table["sent"],
    )


MEASURES: Mapping[str, str] = {
    "over_random": "chosen minus a random candidate",
    "over_plain": "chosen minus a message without advice",
    "advised": "a random candidate minus a message without advice",
    "shrinkage": "rating by the audience that chose minus rating by the other audience",
}


def gains(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure of MEASURES: measure, problems, missing, gain (points, 0-10) with its interval over problems."""
    rows = []
    for name, words in MEASURES.items():
        values = chosen[name].dropna().to_numpy(dtype=float)
        rows.append({
            "measure": words, "problems": len(values), "missing": len(chosen) - len(values), **mean_row(values, "gain"),
        })  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(table: pd.DataFrame) -> list[str]:
    """Return what rehearsing gains, in a sentence for each of the first two measures; the unit is the problem."""
    lines = []
    for row in table.head(2).to_dict("records"):
        about = "a candidate drawn at random" if "random" in row["measure"] else "a message without advice"
        if np.isnan(row["low"]):
            few = row["problems"] < FEWEST
            reason = f"fewer than {FEWEST} problems" if few else "the gains do not vary"
            lines.append(unknown_sentence(f"whether the chosen message is rated higher than {about}", reason))
        elif row["low"] <= 0 <= row["high"]:
            lines.append(f"The chosen message cannot be distinguished from {about}: the interval contains 0.")
        else:
            size = amount((row["gain"], row["low"], row["high"]), HIGHER, "of 10 points")
            lines.append(f"Compared with {about}, other people rate the chosen message {size}.")
    return lines


def write(tables: tuple[pd.DataFrame, pd.DataFrame], task: Rehearsal, audience: str, writer: str, folder: Path) -> Path:
    """Write rehearsal.md, its tables and its figure; return the path of the page."""
    candidates, ratings = tables
    chosen = choices(candidates, ratings)
    table = gains(chosen)
    report = Report(folder, "rehearsal", "Messages rehearsed before an audience")
    report.data(candidates=candidates, ratings=ratings, choices=chosen, gains=table)
    ways = len(Writer(task.spoken).ways)
    report.add(
        f"For {count_phrase(len(task.problems), 'problem')}, {writer} gave advice in {ways} ways and wrote a message by each "
        f"piece of advice. {count_phrase(task.audience, 'persona')} of the set {task.personas}, played by {audience}, rated "
        f"all messages from 0 to 10, and the best one was chosen. {task.audience} other personas of the set then rated all "
        "messages. Brackets are 95% confidence intervals over problems."
    )
    report.disclaim_models(*dict.fromkeys((audience, writer)))
    for answers, value, what in ((candidates, "text", "messages"), (ratings, "rating", "ratings")):
        lost = answers["reason"][answers[value].isna()]
        report.missing(len(lost), len(answers), f"{what} are missing", count_table(lost))
    report.section("What rehearsing gains", *verdicts(table))
    if table["gain"].notna().any():
        caption = "Ratings by people who took no part in the choice, intervals over problems"
        figure = dot_plot(table, ["measure"], "gain", "gain (points of 0-10)", caption, "What rehearsing gains")
        report.figure(figure, "gains", "What rehearsing gains")
    report.table(table, GAINS)
    report.section("The choices")
    report.table(chosen, CHOICES)
    texts = candidates.set_index(["problem", "candidate"])["text"]
    rows = [
        (name, task.problems[name].text, texts.get((name, candidate), ""))
        for name, candidate in chosen[["problem", "chosen"]].to_numpy()
    ]
    report.table(rows, ["problem", "aim", "chosen message"])
    return report.write()


GAINS: Mapping[str, Column] = {
    "comparison": "measure", "problems": "problems", "missing": "missing", "points (0-10)": estimate("gain"),
}  # fmt: skip
CHOICES: Mapping[str, Column] = {
    "problem": "problem", "chosen": "chosen", "advice": "advice", "promised": number("promised"), "by others": number("sent"),
    "random candidate": number("random"), "without advice": number("plain"), "best for others": number("best"),
}  # fmt: skip
