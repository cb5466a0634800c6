"""Episodes from whatever holds them: a .jsonl of ours, a run folder, a folder of the public Parquet files, a public
.json.

The public Habermas Machine data (Parquet, CC BY 4.0) as episodes. How to get the files: docs/deliberation.md.

    hm_all_candidate_comparisons.parquet      a row a participant, round and iteration: opinion, statements, critique, ratings
    hm_all_position_statement_ratings.parquet a row a participant, question and time: agreement with the question's statement
    hm_all_round_survey_responses.parquet     a row a participant and round: the statement shown at its end

The names of the columns are those of `types.py` and `readme.md` in the analysis folder of
google-deepmind/habermas_machine, and of what public code that loads the files uses. **The files themselves were not
seen.** Taken from that code: iteration 1 is the one with the critiqued statement (`top_candidate`), the statement of
the survey is the revised one, ratings are lists of words in capitals, MOCK stands for none, provenance HUMAN_CITIZEN
marks people, MODEL_MEDIATOR the machine. Assumed: a row's ratings are in the order of its candidates, and the critique
stands in a row of iteration 1. There are no demographics.

A launch is a session, a round an episode. Who is in a launch and not in one of its rounds has a voice there with
nothing in it. A participant is known by `worker_id`, or where that is missing by `metadata.participant_id`.

Two public files of what people really wrote, as episodes. Attribution, and how to get them: docs/deliberation.md.

    childcare   {"question", "opinions", "draft_consensus", "critiques"}: one episode, opinions and critiques aligned
    issues      [{"issue", "opinions", "consensus_statement"}, ...]: opinions and one statement, no critiques

Neither says who is who across questions: a participant takes part once. The questions' declarative forms are not in
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.question import Question, question_id
from parley.analysis.deliberation.episode import HUMAN, Episode, Voice, checked, read_episodes, renamed
from parley.analysis.deliberation.run_episodes import episodes_of_run
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.recorder import read_lines
from parley.model.scenario_run import RECORD

COMPARISONS, POSITIONS, SURVEY = (
    f"hm_all_{name}.parquet"
    for name in ("candidate_comparisons", "position_statement_ratings", "round_survey_responses")
)
PERSON, MACHINE = "HUMAN_CITIZEN", "MODEL_MEDIATOR"
WORDS = ("STRONGLY_DISAGREE", "DISAGREE", "SOMEWHAT_DISAGREE", "NEUTRAL", "SOMEWHAT_AGREE", "AGREE", "STRONGLY_AGREE")
RATING = {word: float(point) for point, word in enumerate(WORDS, 1)}
_QUESTION = ["question.id", "question.text", "question.affirming_statement", "question.negating_statement",
             "question.topic", "question.split"]  # fmt: skip
COLUMNS: Mapping[str, Sequence[str]] = {
    COMPARISONS: ["launch_id", "round_id", "iteration_index", "worker_id", "metadata.participant_id", *_QUESTION,
                  "own_opinion.text", "own_opinion.metadata.provenance", "critique.text", "top_candidate.metadata.id",
                  "top_candidate.text", "top_candidate.metadata.provenance", "candidates.metadata.id",
                  "ratings.agreement"],
    POSITIONS: ["metadata.participant_id", "question.id", "rating_index", "ratings.agreement", "metadata.provenance"],
    SURVEY: ["metadata.participant_id", "question.id", "candidate.metadata.id", "candidate.text",
             "candidate.metadata.provenance"],
}  # fmt: skip
"""What is read of each file."""
Row = Mapping[str, Any]


def read_habermas(folder: Path) -> tuple[Episode, ...]:
    """The episodes of the three files in a folder, in the order of the comparisons. Errors: UserError, one line."""
    comparisons, positions, survey = (_table(folder / name) for name in (COMPARISONS, POSITIONS, SURVEY))
    rated = _positions(positions)
    shown = {
        (row["metadata.participant_id"], row["question.id"]): (row["candidate.metadata.id"], row["candidate.text"])
        for row in survey.to_dict("records")
        if row["candidate.metadata.provenance"] == MACHINE
    }
    comparisons = comparisons[comparisons["own_opinion.metadata.provenance"] == PERSON]
    found = [
        _episode(part.to_dict("records"), launch, rated, shown)
        for _, launch in comparisons.groupby("launch_id", sort=False)
        for _, part in launch.groupby("round_id", sort=False)
    ]
    if not found:
        raise UserError(f"{folder / COMPARISONS} holds no opinion of a person")
    return checked(found, str(folder))


def _episode(
    rows: Sequence[Row], launch: pd.DataFrame, rated: Mapping[Any, float], shown: Mapping[Any, tuple[Any, Any]]
) -> Episode:
    first = rows[0]
    critiqued = [
        row for row in rows if row["iteration_index"] == 1 and row["top_candidate.metadata.provenance"] == MACHINE
    ]
    draft = (
        (critiqued[0]["top_candidate.metadata.id"], critiqued[0]["top_candidate.text"]) if critiqued else (None, None)
    )
    ends = [shown[key] for row in rows if (key := (row["metadata.participant_id"], row["question.id"])) in shown]
    revision = ends[0] if ends else (None, None)
    ids = dict(zip(map(_who, launch.to_dict("records")), launch["metadata.participant_id"], strict=True))
    statements = {"draft": draft, "revision": revision}
    voices = [
        _voice(who, [row for row in rows if _who(row) == who], statements, rated, (ids[who], first["question.id"]))
        for who in ids
    ]
    texts = {name: _text(text) for name, (_, text) in statements.items()}
    reasons = {name: "no statement of the machine" for name, text in texts.items() if text is None}
    return Episode(
        str(first["round_id"]), str(first["launch_id"]), _question(first), tuple(voices), texts["draft"],
        texts["revision"], HUMAN, reasons,
    )  # fmt: skip


def _voice(
    who: str,
    rows: Sequence[Row],
    statements: Mapping[str, tuple[Any, Any]],
    rated: Mapping[Any, float],
    at: tuple[Any, Any],
) -> Voice:
    texts = {
        name: next((text for row in rows if (text := _text(row[column])) is not None), None)
        for name, column in (("opinion", "own_opinion.text"), ("critique", "critique.text"))
    }
    agreement = {
        name: next((value for row in rows for known, value in _ratings(row) if known == statement), None)
        for name, (statement, _) in statements.items()
        if statement is not None
    }
    ratings = {"position": rated.get((*at, 0)), "after": rated.get((*at, 1))}
    missing = {**texts, **ratings, **{f"agreement.{name}": value for name, value in agreement.items()}}
    why = "not in the file" if rows else "not in this round"
    reasons = {name: why for name, value in missing.items() if value is None}
    return Voice(
        who, texts["opinion"], texts["critique"], ratings["position"], agreement, ratings["after"], {}, reasons
    )


def _ratings(row: Row) -> Iterator[tuple[Any, float]]:
    """The candidates of a row that were rated, with their ratings."""
    ids, words = (_list(row[name]) for name in ("candidates.metadata.id", "ratings.agreement"))
    if len(ids) == len(words):
        yield from ((one, RATING[word]) for one, word in zip(ids, words, strict=True) if word in RATING)


def _positions(table: pd.DataFrame) -> dict[tuple[Any, Any, int], float]:
    """By participant, question and time (0 before, 1 after)."""
    found = {}
    for row in table.to_dict("records"):
        words = _list(row["ratings.agreement"])
        if row["metadata.provenance"] == PERSON and len(words) == 1 and words[0] in RATING:
            key = (row["metadata.participant_id"], row["question.id"], int(row["rating_index"]))
            found[key] = RATING[words[0]]
    return found


def _question(row: Row) -> Question:
    name, text, yes, no, topic, split = (row[column] for column in _QUESTION)
    topic = int(topic) if isinstance(topic, float) and topic.is_integer() else topic
    return Question(str(name), str(text), str(yes), str(no), str(topic), str(split))


def _who(row: Row) -> str:
    return str(row["metadata.participant_id"] if pd.isna(row["worker_id"]) else row["worker_id"])


def _text(found: Any) -> str | None:
    return found if isinstance(found, str) and found.strip() else None


def _list(found: Any) -> list[Any]:
    return [found] if isinstance(found, str) else [] if found is None or not hasattr(found, "__iter__") else list(found)


def _table(path: Path) -> pd.DataFrame:
    try:
        found = pd.read_parquet(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or ' '.join(str(error).split())}") from error
    except ValueError as error:  # pyarrow's errors on broken files are ValueErrors
        raise UserError(f"{path} is no Parquet file: {' '.join(str(error).split())}") from error
    if missing := [name for name in COLUMNS[path.name] if name not in found]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}")
    return found


NOT_ASKED = "not in the file"


def read_childcare(path: Path) -> tuple[Episode, ...]:
    """The one episode. Errors: UserError, one line."""
    found = _json(path)
    if not isinstance(found, dict):
        raise UserError(f"{path} must be a table with question, opinions, draft_consensus and critiques")
    opinions, critiques = _texts(found.get("opinions"), path), _texts(found.get("critiques"), path)
    if len(opinions) != len(critiques):
        raise UserError(f"{path} has {len(opinions)} opinions and {len(critiques)} critiques: they must be aligned")
    draft = _written_text(found.get("draft_consensus"), path)
    return (_written_episode(_written_text(found.get("question"), path), opinions, critiques, draft, path.stem),)


def read_issues(path: Path) -> tuple[Episode, ...]:
    """An episode an issue, its statement as the draft. Errors: UserError, one line."""
    found = _json(path)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{path} must be a list of issues")
    return tuple(
        _written_episode(
            _written_text(one.get("issue"), path),
            opinions := _texts(one.get("opinions"), path),
            [None] * len(opinions),
            _written_text(one.get("consensus_statement"), path),
            f"{path.stem}_{number}",
        )
        for number, one in enumerate(found, 1)
    )


def read_human(path: Path) -> tuple[Episode, ...]:
    """Either of the two, by its form."""
    return read_issues(path) if isinstance(_json(path), list) else read_childcare(path)


def _written_episode(question: str, opinions: list[str], critiques: list[Any], draft: str, name: str) -> Episode:
    voices = tuple(
        _written_voice(f"{name}_p{number}", opinion, critique)
        for number, (opinion, critique) in enumerate(zip(opinions, critiques, strict=True), 1)
    )
    return Episode(name, name, asked(question), voices, draft, None, HUMAN, {"revision": NOT_ASKED})


def _written_voice(participant: str, opinion: str, critique: str | None) -> Voice:
    missing = {"critique": critique, "position": None, "after": None}
    reasons = {name: NOT_ASKED for name, value in missing.items() if value is None}
    return Voice(participant, opinion, critique, None, {}, None, {}, reasons)


def asked(question: str) -> Question:
    """A question known by its words only: what agrees with it is that its answer is yes.

    >>> asked("Should the state pay?").statement
    'The answer to "Should the state pay?" is yes.'
    """
    yes, no = (f'The answer to "{question}" is {answer}.' for answer in ("yes", "no"))
    return Question(question_id("human", question), question, yes, no, "human")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error


def _texts(found: object, path: Path) -> list[str]:
    if not isinstance(found, list) or not found:
        raise UserError(f"{path} needs a list of texts where it has {str(found)[:60]!r}")
    return [_written_text(one, path) for one in found]


def _written_text(found: object, path: Path) -> str:
    if not isinstance(found, str) or not found.strip():
        raise UserError(f"{path} needs a text where it has {str(found)[:60]!r}")
    return found


def read_any(path: Path) -> tuple[Episode, ...]:
    """The episodes at a path. Errors: UserError, one line."""
    if path.is_dir() and (path / COMPARISONS).is_file():
        return read_habermas(path)
    if (path / RECORD).is_file():
        return episodes_of_run(path)
    if path.suffix == ".jsonl":
        return read_episodes(path)
    if path.suffix == ".json":
        return read_human(path)
    raise UserError(f"{path} holds no episodes: a .jsonl, a run folder, a public .json, or a folder with {COMPARISONS}")


def read_all(paths: Sequence[Path]) -> tuple[Episode, ...]:
    """The episodes of several paths, one after the other.

    Of several, ids and sessions of a run folder have its name before them. A persona is the same participant in all
    runs with the same set of personas, and nobody else: before it stands the name of the first run folder with its set.
    Errors: UserError, also for an id that comes twice.
    """
    found, first = list[Episode](), dict[str, str]()
    for path in paths:
        episodes, name = read_any(path), path.resolve().name
        if len(paths) > 1 and (path / RECORD).is_file():
            people = first.setdefault(_personas(path / RECORD), name)
            episodes = tuple(renamed(one, name, people) for one in episodes)
        found += episodes
    return checked(found, ", ".join(map(str, paths)))


def _personas(record: Path) -> str:
    """The set of personas that a run was held with."""
    header = next(event for event in read_lines(record) if isinstance(event, Header))
    return str(header.scenario["personas"])
