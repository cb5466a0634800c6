"""Rivals write messages for an audience; how often each wins, and how often each breaks a rule.

Counterpart of Moloch's Bargain (2025). README.md lists the departures. The unit is the case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.persuasion import read_message
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import EVEN, Answers, Match, ask_readers, compare, draw_people, pair_values
from parley.analysis.rule_judge import Case, Question, broken_rules, check_judge, judge_texts
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.request import Backend
from parley.llm.seeding import derive
from parley.studies.competition.measures import case_table
from parley.studies.competition.writers import Audience, Competition, Competitor, Pitch

WRITER, RIVAL = "writer", "rival"
"""The names of the models of --llm and of --against."""


class CaseKey(NamedTuple):
    """A case of a competition."""

    competition: Competition
    case: Case


@dataclass(frozen=True)
class CompetitionStudy:
    """What is written about, who chooses, who judges. samples: messages of each writer about each case."""

    competitions: tuple[Competition, ...]
    audience: str
    judge: str
    personas: str = "voters"
    panel: int = 20
    samples: int = 1
    words: int = 60
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        models = {"audience": identity_spec(self.audience), "judge": identity_spec(self.judge)}
        return {**models, "competitions": [asdict(competition) for competition in self.competitions]} | {
            name: getattr(self, name) for name in ("personas", "panel", "samples", "words", "seed")
        }

    @cached_property
    def keys(self) -> list[CaseKey]:
        """All cases."""
        return [CaseKey(competition, case) for competition in self.competitions for case in competition.cases]

    def readers(self, competition: Competition) -> list[Audience]:
        """Return the audience: the same people in every competition."""
        people = draw_people(self.personas, self.panel, self.seed)
        return [Audience(person, competition.spoken) for person in people]

    def write(
        self,
        writer: str,
        spec: str,
        desk: CallDesk,
        keys: Sequence[CaseKey] | None = None,
        backend: Backend | None = None,
        adapter: str = "",
    ) -> list[Pitch]:
        """Return the messages of a writer about some cases (None: all). writer: its name. backend: its model, if it is open."""
        conversations = [
            self._pitch(writer, key, sample, adapter)
            for key in (self.keys if keys is None else keys)
            for sample in range(1, self.samples + 1)
        ]
        return desk.ask(conversations, spec, f"messages ({writer})", lambda pitch: pitch.reason or None, backend)

    def _pitch(self, writer: str, key: CaseKey, sample: int, adapter: str) -> Conversation[Pitch]:
        author = Competitor(key.competition, self.words, adapter=adapter)
        seed = derive(self.seed, "pitch", writer, key.competition.name, key.case.name, sample)
        written = read_message((yield from ask(author.compose(key.case, seed))))
        return Pitch(key.competition.name, key.case.name, writer, sample, written.text, written.reason or "")

    def compare(self, pitches: Sequence[Pitch], pairs: Sequence[tuple[Pitch, Pitch]], desk: CallDesk) -> pd.DataFrame:
        """Return one row per person and pair of messages that are both there, as of `pair_values`: member, a, b, value, decided.

        Messages with the same text are even without a question.
        """
        texts = {pitch.id: pitch.text for pitch in pitches if pitch.text is not None}
        aims = {(key.competition.name, key.case.name): key.competition.aim_of(key.case) for key in self.keys}
        readers = {competition.name: self.readers(competition) for competition in self.competitions}
        matches = [
            (Match(reader, pitch.id, other.id), aims[pitch.competition, pitch.case])
            for pitch, other in pairs
            if pitch.id in texts and other.id in texts
            for reader in readers[pitch.competition]
        ]
        conversations = [self._choose(match, texts, aim) for match, aim in matches]
        table = ask_readers([match for match, _ in matches], conversations, self.audience, desk, "choices")
        return pair_values(table, list(texts))

    def _choose(self, match: Match, texts: Mapping[str, str], aim: str) -> Answers:
        if texts[match.a] == texts[match.b]:
            return [(EVEN, ""), (EVEN, "")]
        return (yield from compare(match, texts, aim, self.seed))

    def judge_pitches(self, pitches: Sequence[Pitch], desk: CallDesk) -> pd.DataFrame:
        """Return what the judge says of messages (`judge_texts`)."""
        keys = {(key.competition.name, key.case.name): key for key in self.keys}
        questions = []
        for pitch in pitches:
            competition, case = keys[pitch.competition, pitch.case]
            questions += [
                (pitch.id, Question(competition.judged, case, probe, pitch.text, pitch.reason))
                for probe in competition.probes
            ]
        return judge_texts(questions, self.judge, self.seed, desk)

    def check_judge(self, desk: CallDesk) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what the judge says of known messages, and how good it is, as `check_judge` of analysis/rule_judge.py."""
        return check_judge([competition.judged for competition in self.competitions], self.judge, self.seed, desk)


class Contest(NamedTuple):
    """A finished contest of two writers: messages, comparisons (`pair_values`), verdicts, and the table of cases."""

    writer: str
    rival: str
    pitches: list[Pitch]
    values: pd.DataFrame
    verdicts: pd.DataFrame
    cases: pd.DataFrame


def paired(pitches: Sequence[Pitch], names: tuple[str, str]) -> list[tuple[Pitch, Pitch]]:
    """Return the pairs of a message of the writer and one of the rival about the same case, of the same sample."""
    writer_pitches, others = (
        {(pitch.competition, pitch.case, pitch.sample): pitch for pitch in pitches if pitch.writer == name}
        for name in names
    )
    return [(pitch, others[key]) for key, pitch in writer_pitches.items() if key in others]


def hold_contest(study: CompetitionStudy, pitches: Sequence[Pitch], names: tuple[str, str], desk: CallDesk) -> Contest:
    """Return what audience and judge say of messages of two writers, paired by case and sample. names: writer, rival."""
    writer, rival = names
    every = [pitch for name in names for pitch in pitches if pitch.writer == name]
    pairs = paired(pitches, names)
    values, verdicts = study.compare(every, pairs, desk), study.judge_pitches(every, desk)
    return Contest(
        writer, rival, every, values, verdicts, case_table(every, values, broken_rules(verdicts), writer, rival)
    )
