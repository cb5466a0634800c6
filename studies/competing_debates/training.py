"""Trains a debater on verdicts, and compares it with itself before, on topics held out.

The model debates each training topic several times, with the same people on the same sides. Two debaters argue at once, so a
first statement answers a prompt and nothing else. A panel compares all statements that answer one prompt, in pairs and in both
orders; the score of a statement is the share of its comparisons that it wins. SFT trains on the best statement for each prompt,
DPO on pairs: the best with the worst, the second best with the second worst, and so on. The null, trained as often as asked for,
is the same training on shuffled verdicts (training/tuning/preferences.py).

On held-out topics another set of people debates in each repetition. The same debaters with the same seeds speak untrained and
trained, and people who gave no verdict in the training compare the two speeches of each debater.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.persona import Persona
from parley.agents.topic import load_topic
from parley.analysis.formatting import slug
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import Match, draw_people, pair_values
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import Scenario
from parley.model.sent_requests import sent_requests
from parley.training.base_model import BaseModel
from parley.training.tuning.adapter import preference_adapter
from parley.training.tuning.dataset import held_out_questions
from parley.training.tuning.pipeline import trainable_model
from parley.training.tuning.preferences import SHUFFLED, TRAINED, Preference, Prompt, ScoredReply, lessons
from parley.training.tuning.recipe import Recipe, seated_parties

from .speeches import SpeechReader, ask_about_speeches

TRAINING, UNTRAINED = "training", "untrained"
"""Debates to train on; then, on held-out topics: no adapter, that of the verdicts, those of shuffled ones (`shuffled 1`, ...)."""
AT_ONCE: Mapping[str, Any] = {"protocol": "simultaneous", "rounds": 1, "sides": "assigned", "survey": "never"}
FEWEST_PAIRS = 2
DEBATE = "simultaneous"
SCORED = ["id", "topic", "repetition", "side", "text", "reason", "score"]
VALUES = ["kind", "protocol", "topic", "repetition", "side", "id", "words", "untrained_words", "value"]
"""Columns of the tables of TrainingOutcome."""
USE = """## What it is for

A debater trained on verdicts is a **research instrument**. Use this debater to study what a reward for winning debates does to a
model. The debater was rewarded for what simulated readers prefer, not for what is true.
The licence of the base model also applies."""


class Statement(NamedTuple):
    """The first statement of a debater. debates: UNTRAINED, ... side: for or against the claim. text: None if it is missing."""

    debates: str
    room: str
    seat: str
    topic: str
    repetition: int
    side: str
    prompt: Prompt
    text: str | None
    reason: str

    @property
    def place(self) -> tuple[str, str]:
        """The room and the seat, which are the same in debates of other models."""
        return self.room, self.seat

    @property
    def id(self) -> str:
        """The name of the statement in tables."""
        return f"{self.debates}/{self.room}/{self.seat}"

    @property
    def words(self) -> float:
        """The number of its words; NaN if it is missing."""
        return np.nan if self.text is None else len(self.text.split())


class TrainingOutcome(NamedTuple):
    """A finished training.

    scored: training statements with their scores. values: a row per pair of a held-out statement and the untrained one (kind:
    the debater). table: all comparisons of held-out statements. texts: by id. preferences: by adapter. ties: pairs left out.
    """

    scored: pd.DataFrame
    values: pd.DataFrame
    table: pd.DataFrame
    texts: dict[str, str]
    preferences: Mapping[str, list[Preference]]
    ties: int

    def lines(self, llm: str, method: str) -> list[str]:
        """Return what was trained on, in a line each."""
        preferences = next(iter(self.preferences.values()))
        margins = {name: fmean(preference.margin for preference in given) for name, given in self.preferences.items()}
        prompts = len({preference.about for preference in preferences})
        return [
            f"{llm} was trained by {method.upper()} on {len(preferences)} verdicts about {prompts} prompts; "
            f"{self.ties} pairs tie",
            "mean share of comparisons won by the preferred speech minus that of the other: "
            + ", ".join(f"{name} {margin:+.2f}" for name, margin in margins.items()),
        ]


def statements(debates: str, tables: Tables, folder: Path) -> list[Statement]:
    """Return the first statements of the debates in a folder. Errors: UserError for a prompt that cannot be derived."""
    sent, spoken = sent_requests(folder), []
    first_lines = tables.utterances.sort_values("iteration").drop_duplicates(["room", "agent"])
    for line in first_lines.sort_values(["room", "agent"]).to_dict("records"):
        requests = [each.request for each in sent.of(line["room"], line["agent"]) if each.call.purpose == "speech"]
        if not requests or requests[0] is None:
            raise UserError(f"the prompt of a speech in {folder} cannot be restored: give another --out")
        side, missing = requests[0].facts.get("side", ""), pd.isna(line["text"])
        text, reason = (None, str(line["reason"])) if missing else (str(line["text"]), "")
        place = debates, line["room"], line["seat"], line["topic"], int(line["repetition"])
        spoken.append(Statement(*place, side, requests[0].messages, text, reason))
    return spoken


@dataclass(frozen=True)
class DebaterTraining:
    """A training in a folder. base: the debates; its repetitions are those on held-out topics.

    panel: the model that plays the readers. people: readers of a pair. samples: statements for each prompt. share: of the topics
    that are held out. shuffles: nulls.
    """

    base: Scenario
    panel: str
    people: int
    samples: int
    recipe: Recipe
    folder: Path
    share: float = 0.5
    shuffles: int = 1

    def __post_init__(self) -> None:
        if self.samples < FEWEST_PAIRS:
            raise UserError(f"--samples is {self.samples}: a training needs at least 2 statements for a prompt")
        if not 0 < self.share < 1 or not self.split[0]:
            raise UserError(
                "--held-out must leave topics on both sides: name two topics or more, and a share such as 0.5"
            )

    @property
    def llm(self) -> str:
        return str(self.base.models.llm)

    @property
    def seed(self) -> int:
        return int(self.base.seed)

    @property
    def split(self) -> tuple[list[str], list[str]]:
        """The training topics and the held-out topics."""
        topics = list(self.base.subject.topic)
        held_out = held_out_questions(topics, self.share)
        return [name for name in topics if name not in held_out], [name for name in topics if name in held_out]

    @property
    def debaters(self) -> list[str]:
        """The names of the adapters: that of the verdicts, and those of shuffled verdicts."""
        return [TRAINED, *(f"{SHUFFLED} {number}" for number in range(1, self.shuffles + 1))]

    @property
    def runs(self) -> list[str]:
        """The folders of the debates, in their order."""
        return [TRAINING, UNTRAINED, *map(slug, self.debaters)]

    def readers(self, skip: int = 0) -> list[Persona]:
        """Return the panel, without the first `skip` people. Errors: UserError if the set of personas has fewer."""
        personas = self.base.society.qualified(str(self.base.people.personas))
        return draw_people(personas, self.people, self.seed, skip)

    def model(self) -> BaseModel:
        """Return the model to be trained. Errors: UserError where it cannot be, before anything is asked."""
        return trainable_model(self.llm, "training a debater")

    def run(self, desk: CallDesk) -> Generator[Scenario, Tables, TrainingOutcome]:
        """Yield the scenario of each of `runs`, and receive its tables. Errors: UserError if fewer than two pairs differ."""
        base, (training, held_out) = self.model(), self.split
        settings = {**AT_ONCE, "topic": ",".join(training), "cast": "fixed", "repetitions": self.samples}
        tables = yield self.base.with_settings(settings)
        scored = self.score(statements(TRAINING, tables, self.folder / TRAINING), desk)
        sets, ties = self.preferences(scored)
        adapters = {name: self.adapter(name, preferences, base, desk) for name, preferences in sets.items()}
        settings = {**AT_ONCE, "topic": ",".join(held_out)}
        tables = yield self.base.with_settings(settings)
        before, after = statements(UNTRAINED, tables, self.folder / UNTRAINED), {}
        for name, path in adapters.items():
            tables = yield self.base.with_settings({**settings, **self.spoken_with(path)})
            after[name] = statements(name, tables, self.folder / slug(name))
        values, table, texts = self.compare(before, after, desk)
        rows = [
            (
                statement.id,
                statement.topic,
                statement.repetition,
                statement.side,
                statement.text,
                statement.reason,
                score,
            )
            for statement, score in scored
        ]
        frame = pd.DataFrame(rows, columns=SCORED).astype({"score": "float64"})
        return TrainingOutcome(frame, values, table, texts, sets, ties)

    def spoken_with(self, adapter: Path) -> dict[str, Any]:
        """Return the settings of debates in which every seat speaks through an adapter."""
        seats = tuple([f"{seat}:{adapter.name}" for seat in seated_parties(self.base)])
        return {"llm": f"{self.llm},adapters={adapter}", "adapters": seats}

    def score(self, spoken: Sequence[Statement], desk: CallDesk) -> list[tuple[Statement, float]]:
        """Return statements with the share of comparisons that they win against others for the same prompt (NaN: unknown)."""
        written = [statement for statement in spoken if statement.text is not None]
        pairs = [
            (statement, other) for statement, other in combinations(written, 2) if statement.prompt == other.prompt
        ]
        values = self._compared(pairs, self.readers(), desk)[0]
        wins: dict[str, list[float]] = {}
        for (a, b), value in values.items():
            wins.setdefault(a, []).append(value)
            wins.setdefault(b, []).append(1 - value)
        return [(statement, fmean(wins[statement.id]) if statement.id in wins else np.nan) for statement in spoken]

    def preferences(self, scored: Sequence[tuple[Statement, float]]) -> tuple[dict[str, list[Preference]], int]:
        """Return the preferences of each adapter, and how many pairs tie. Errors: UserError for fewer than two preferences."""
        replies = [
            ScoredReply(statement.prompt, statement.text, score)
            for statement, score in scored
            if statement.text is not None and not np.isnan(score)
        ]
        sets, ties = lessons(replies, self.recipe.method, self.shuffles, self.seed)
        if len(sets[TRAINED]) < FEWEST_PAIRS:
            raise UserError(
                f"{len(sets[TRAINED])} pairs of statements differ in their score ({ties} tie), too few for a training: "
                "give a larger --samples, or choose another --compare or --llm"
            )
        return sets, ties

    def adapter(self, name: str, given: Sequence[Preference], base: BaseModel, desk: CallDesk) -> Path:
        """Return the folder of an adapter, trained unless it is there."""
        recipe, data = replace(self.recipe, party=f"debater-{slug(name)}", seed=self.seed), {"panel": self.panel}
        return preference_adapter(self.folder, recipe, base, given, ("preferences", data), USE, desk.bar)

    def compare(
        self, before: Sequence[Statement], after: Mapping[str, Sequence[Statement]], desk: CallDesk
    ) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
        """Return values, comparisons and texts of held-out statements: each with the untrained one of the same debater."""
        untrained = {statement.place: statement for statement in before}
        pairs = [
            (name, statement, untrained[statement.place])
            for name, statements in after.items()
            for statement in statements
            if statement.place in untrained
        ]
        written = [
            (statement, other) for _, statement, other in pairs if statement.text is not None and other.text is not None
        ]
        values, table, texts = self._compared(written, self.readers(self.people), desk)
        rows = [
            (name, DEBATE, statement.topic, statement.repetition, statement.side, statement.id, statement.words, other.words,
             values.get((statement.id, other.id), np.nan))
            for name, statement, other in pairs
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=VALUES).astype({"value": "float64"}), table, texts

    def _compared(
        self, pairs: Sequence[tuple[Statement, Statement]], readers: Sequence[Persona], desk: CallDesk
    ) -> tuple[dict[tuple[str, str], float], pd.DataFrame, dict[str, str]]:
        """Return the share that prefers the first statement of each pair, by ids, all comparisons, and the texts by id."""
        texts = {statement.id: str(statement.text) for place in (0, 1) for statement in (pair[place] for pair in pairs)}
        matches = [
            Match(SpeechReader(person, load_topic(statement.topic), statement.side), statement.id, other.id)
            for statement, other in pairs
            for person in readers
        ]
        table = ask_about_speeches(matches, texts, self.panel, desk, self.seed)
        shares = pair_values(table, list(texts)).dropna(subset=["value"]).groupby(["a", "b"])["value"].mean()
        return {(str(a), str(b)): float(value) for (a, b), value in shares.items()}, table, texts
