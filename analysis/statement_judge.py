"""A judge scores how strongly each statement of a run agrees with the topic's claim (analysis/rubrics/judge.toml)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.language import ENGLISH, GIVEN, PUBLISHED
from parley.agents.published.pack import is_pack_folder, judge_in, pack_digest, pack_folder
from parley.agents.topic import Topic, worded_topic
from parley.analysis.judging import VERDICTS as VERDICTS
from parley.analysis.judging import WHO, Item, Judge, Rubric, load_rubric, open_judge
from parley.analysis.table_export import write_csv
from parley.analysis.tables import Tables
from parley.llm.backends import open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.request import Backend

SCALE = "agreement_1_7"


@dataclass(frozen=True)
class Judging:
    """How a judge is asked: `calls` per statement, `temperature`, number of examples `shown`, and what it is `told` about the
    speaker (`name`, `party`).

    A backend that gives the probabilities of answers is asked once, and their mean is taken. The defaults are those of the UCL
    study's public code (3 calls, 0.01), except for the seed, which differs between calls.
    """

    calls: int = 3
    temperature: float = 0.01
    shown: int = 4
    told: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.temperature < 0 or self.shown < 0:
            raise UserError("a judge needs --calls 1 or more, a temperature of 0 or more, and --examples 0 or more")
        if others := set(self.told) - {"name", "party"}:
            raise UserError(
                f"--tell can give a judge the name and party of the speaker, not {', '.join(sorted(others))}"
            )

    @property
    def rubric(self) -> Rubric:
        """The rubric in Parley's words."""
        return self.rubric_of(GIVEN)

    def rubric_of(self, wording: str) -> Rubric:
        """Return the rubric in the words of a wording that has a judge, else in Parley's."""
        own = judge_in(ENGLISH._replace(wording=wording).wording_folder)
        return replace(load_rubric(str(own or "judge")), repeats=self.calls, temperature=self.temperature)


def judge_run(
    tables: Tables,
    folder: Path,
    spec: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """The table of `verdict_table`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    rubric = judging.rubric_of(wording_of(tables))
    with open_judge(rubric, spec, folder, bar, asdict(judging), budget, ledger, opened) as judge:
        verdicts = verdict_table(tables, judge, judging)
        write_csv(verdicts, folder / "verdicts.csv")
    return verdicts


def wording_of(tables: Tables) -> str:
    """Return how the prompts of a run were worded, which is how its judge is asked. Errors: UserError if a pack has changed."""
    wording, said = str(tables.header.scenario.get("wording", GIVEN)), tables.header.prompts.get(PUBLISHED)
    if said and not is_pack_folder(pack_folder(wording)):
        raise UserError(
            f"the prompts of this run are in the folder {wording}, which is missing: put the folder back to judge the run"
        )
    if said and said != pack_digest(wording):
        raise UserError(
            f"the folder {wording} has changed since this run: restore the folder, or judge a run that was made with "
            "the changed folder"
        )
    return wording


def verdict_table(tables: Tables, judge: Judge, judging: Judging) -> pd.DataFrame:
    """One row per turn: WHO, statement, text, score, readings, reasons.

    statement: the agent's first, second, ... (a turn without words is counted too). score: 1-7 on the topic's claim; NaN: none.
    readings: how many. reasons: why replies could not be read, or why nothing was said.
    """
    names = tables.agents.set_index(["room", "agent"])["name"]
    wording = wording_of(tables)
    rubric, topics = judging.rubric_of(wording), {slug: worded_topic(slug, wording) for slug in tables.topics}

    def item(row: Any) -> Item:
        name = names[row.room, row.agent]
        place = f"{row.room} {row.iteration}"
        return statement_item(place, topics[row.topic], row.text, name, row.party, judging, rubric)

    verdicts = judge.judge_utterances(rubric, tables, judging.seed, {"score": item})
    verdicts.insert(len(WHO), "statement", verdicts.groupby(["room", "agent"]).cumcount() + 1)
    return verdicts


def statement_item(
    place: str, topic: Topic, text: str, name: str, party: str, judging: Judging, rubric: Rubric | None = None
) -> Item:
    """The question about one statement; `place` is its room and turn. A rubric of a paper may not say who speaks."""
    speaker = {"name": name, "party": party}
    by = ", ".join(speaker[key] for key in judging.told)
    says_who = by or rubric is None or "{by}" in rubric.case
    who = {"by": f" ({by})" if by else ""} if says_who else {}
    slots = {"statement": text, **who, "claim": topic.claim}
    shown = examples(topic.root)[: judging.shown]
    unnamed = dict.fromkeys(who, "")
    return Item((place,), slots, examples=[({"statement": text, **unnamed}, str(score)) for text, score in shown])


def examples(slug: str) -> list[tuple[str, int]]:
    """The scored statements of a topic, the extremes first, so that two examples show both ends."""
    return [(str(example["statement"]), int(example["answer"])) for example in load_rubric("judge").examples_on(slug)]


def score_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): groups are conditions, rooms are runs, seats are agents."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]
