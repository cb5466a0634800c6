"""Reads episodes from a .jsonl of ours, a run folder, a folder of the public Parquet files, or a public .json.

The public Habermas Machine data (Parquet, CC BY 4.0; docs/deliberation.md says where to get it):

    hm_all_candidate_comparisons.parquet      a row per participant, round, iteration: opinion, statements, critique, ratings
    hm_all_position_statement_ratings.parquet a row per participant, question, time: agreement with the question's statement
    hm_all_round_survey_responses.parquet     a row per participant and round: the statement shown at its end

The column names are those of `types.py` and `readme.md` in the analysis folder of google-deepmind/habermas_machine, and
of public code that loads the files. **The files themselves were not seen.** Taken from that code: iteration 1 has the
critiqued statement (`top_candidate`), the statement of the survey is the revised one, ratings are lists of words in
capitals, MOCK means none, provenance HUMAN_CITIZEN marks people and MODEL_MEDIATOR the machine. Assumed: a row's
ratings are in the order of its candidates, and the critique is in a row of iteration 1. There are no demographics. A
launch is a session, a round an episode. A participant of a launch who misses one of its rounds has an empty voice
there. A participant is known by `worker_id`, or where that is missing by `metadata.participant_id`.

Two public .json files of texts by people:

    childcare   {"question", "opinions", "draft_consensus", "critiques"}: one episode, opinions and critiques aligned
    issues      [{"issue", "opinions", "consensus_statement"}, ...]: opinions and one statement, no critiques

Neither names its participants, so each takes part in one episode only. Neither has the questions as statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.question import Question, question_id
from parley.analysis.deliberation.episode import HUMAN, Episode, Voice, checked, read_episodes, renamed
from parley.analysis.deliberation.run_episodes import episodes_of_run, run_names
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.files import RECORD
from parley.model.recorder import read_lines

NOT_IN_FILE = "not in the file"
COMPARISONS, POSITIONS, SURVEY = (
    f"hm_all_{name}.parquet"
    for name in ("candidate_comparisons", "position_statement_ratings", "round_survey_responses")
)
PARTICIPANT = "metadata.participant_id"
PERSON, MACHINE = "HUMAN_CITIZEN", "MODEL_MEDIATOR"
WORDS = ("STRONGLY_DISAGREE", "DISAGREE", "SOMEWHAT_DISAGREE", "NEUTRAL", "SOMEWHAT_AGREE", "AGREE", "STRONGLY_AGREE")
RATING = {word: float(point) for point, word in enumerate(WORDS, 1)}
_QUESTION = ["question.id", "question.text", "question.affirming_statement", "question.negating_statement",
             "question.topic", "question.split"]  # fmt: skip
COLUMNS: Mapping[str, Sequence[str]] = {
    COMPARISONS: ["launch_id", "round_id", "iteration_index", "worker_id", PARTICIPANT, *_QUESTION,
                  "own_opinion.text", "own_opinion.metadata.provenance", "critique.text", "top_candidate.metadata.id",
                  "top_candidate.text", "top_candidate.metadata.provenance", "candidates.metadata.id",
                  "ratings.agreement"],
    POSITIONS: [PARTICIPANT, "question.id", "rating_index", "ratings.agreement", "metadata.provenance"],
    SURVEY: [PARTICIPANT, "question.id", "candidate.metadata.id", "candidate.text",
             "candidate.metadata.provenance"],
}  # fmt: skip
"""The columns read from each file."""
Row = Mapping[str, Any]


def read_all(paths: Sequence[Path]) -> tuple[Episode, ...]:
    """Return the episodes of several paths, one path after the other.

    With several paths, ids and sessions of a run folder begin with its name (`run_names`). A persona is the same participant
    in all runs with the same set of personas, and in no other; its name begins with the first run folder with its set.
    Errors: UserError, also for a path or an id that comes twice.
    """
    all_episodes, first_runs = list[Episode](), dict[str, str]()
    for path, name in zip(paths, run_names(paths), strict=True):
        episodes = read_any(path)
        if len(paths) > 1 and (path / RECORD).is_file():
            header = next(event for event in read_lines(path / RECORD) if isinstance(event, Header))
            people = first_runs.setdefault(str(header.scenario["personas"]), name)
            episodes = tuple(renamed(episode, name, people) for episode in episodes)
        all_episodes += episodes
    return checked(all_episodes, ", ".join(map(str, paths)))


def read_any(path: Path) -> tuple[Episode, ...]:
    """Return the episodes at a path. Errors: UserError, one line."""
    if path.is_dir() and (path / COMPARISONS).is_file():
        return read_habermas(path)
    if (path / RECORD).is_file():
        return episodes_of_run(path)
    if path.suffix == ".jsonl":
        return read_episodes(path)
    if path.suffix == ".json":
        return read_human(path)
    raise UserError(
        f"{path} has no episodes: give a .jsonl file, a run folder, a public .json file, or a folder with {COMPARISONS}"
    )


def read_habermas(folder: Path) -> tuple[Episode, ...]:
    """Return the episodes of the three files in a folder, in the order of the comparisons. Errors: UserError, one line."""
    comparisons, positions, survey = (_read_table(folder / name) for name in (COMPARISONS, POSITIONS, SURVEY))
    positions_by_key = _positions(positions)
    shown = {
        (row[PARTICIPANT], row["question.id"]): (row["candidate.metadata.id"], row["candidate.text"])
        for row in survey.to_dict("records")
        if row["candidate.metadata.provenance"] == MACHINE
    }
    comparisons = comparisons[comparisons["own_opinion.metadata.provenance"] == PERSON]
    episodes = [
        _episode(round_rows.to_dict("records"), launch, positions_by_key, shown)
        for _, launch in comparisons.groupby("launch_id", sort=False)
        for _, round_rows in launch.groupby("round_id", sort=False)
    ]
    if not episodes:
        raise UserError(f"{folder / COMPARISONS} has no opinion written by a person")
    return checked(episodes, str(folder))


def _episode(
    rows: Sequence[Row], launch: pd.DataFrame, positions: Mapping[Any, float], shown: Mapping[Any, tuple[Any, Any]]
) -> Episode:
    first, nothing = rows[0], (None, None)
    drafts = [
        (row["top_candidate.metadata.id"], row["top_candidate.text"])
        for row in rows
        if row["iteration_index"] == 1 and row["top_candidate.metadata.provenance"] == MACHINE
    ]
    revisions = [shown[key] for row in rows if (key := (row[PARTICIPANT], row["question.id"])) in shown]
    statements = {"draft": [*drafts, nothing][0], "revision": [*revisions, nothing][0]}
    ids = dict(zip(map(_participant, launch.to_dict("records")), launch[PARTICIPANT], strict=True))
    voices = tuple(
        _voice(
            who,
            [row for row in rows if _participant(row) == who],
            statements,
            positions,
            (ids[who], first["question.id"]),
        )
        for who in ids
    )
    texts = {name: _text(text) for name, (_, text) in statements.items()}
    reasons = {name: "no statement of the machine" for name, text in texts.items() if text is None}
    return Episode(
        str(first["round_id"]), str(first["launch_id"]), _question(first), voices, texts["draft"], texts["revision"], HUMAN,
        reasons,
    )  # fmt: skip


def _voice(
    who: str,
    rows: Sequence[Row],
    statements: Mapping[str, tuple[Any, Any]],
    positions: Mapping[Any, float],
    key: tuple[Any, Any],
) -> Voice:
    """Return the voice of a participant. key: the participant's and the question's id in the table of positions."""
    opinion, critique = (
        next((text for row in rows if (text := _text(row[column])) is not None), None)
        for column in ("own_opinion.text", "critique.text")
    )
    agreement = {
        name: next((rating for row in rows for candidate, rating in _ratings(row) if candidate == statement), None)
        for name, (statement, _) in statements.items()
        if statement is not None
    }
    position, after = (positions.get((*key, time)) for time in (0, 1))
    return _new_voice(who, opinion, critique, position, agreement, after, NOT_IN_FILE if rows else "not in this round")


def _new_voice(
    who: str,
    opinion: str | None,
    critique: str | None,
    position: float | None,
    agreement: Mapping[str, float | None],
    after: float | None,
    reason: str,
) -> Voice:
    """Return a voice without demographics, with one reason for all that is missing."""
    values = {"opinion": opinion, "critique": critique, "position": position, "after": after}
    values |= {f"agreement.{name}": rating for name, rating in agreement.items()}
    reasons = {name: reason for name, value in values.items() if value is None}
    return Voice(who, opinion, critique, position, agreement, after, {}, reasons)


def _ratings(row: Row) -> Iterator[tuple[Any, float]]:
    """Yield the candidates of a row that were rated, with their ratings."""
    ids, words = (_as_list(row[name]) for name in ("candidates.metadata.id", "ratings.agreement"))
    if len(ids) == len(words):
        yield from ((candidate, RATING[word]) for candidate, word in zip(ids, words, strict=True) if word in RATING)


def _positions(table: pd.DataFrame) -> dict[tuple[Any, Any, int], float]:
    """Return positions by participant, question and time (0 before, 1 after)."""
    positions = {}
    for row in table.to_dict("records"):
        words = _as_list(row["ratings.agreement"])
        if row["metadata.provenance"] == PERSON and len(words) == 1 and words[0] in RATING:
            positions[row[PARTICIPANT], row["question.id"], int(row["rating_index"])] = RATING[words[0]]
    return positions


def _question(row: Row) -> Question:
    values = [row[column] for column in _QUESTION]
    topic = values[4]
    values[4] = int(topic) if isinstance(topic, float) and topic.is_integer() else topic
    identity, question, statement, against, topic, split = map(str, values)
    return Question(identity, question, statement, against, topic, split=split)


def _participant(row: Row) -> str:
    return str(row[PARTICIPANT] if pd.isna(row["worker_id"]) else row["worker_id"])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else [] if value is None or not hasattr(value, "__iter__") else list(value)


def _read_table(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or ' '.join(str(error).split())}") from error
    except ValueError as error:  # pyarrow's errors on broken files are ValueErrors
        raise UserError(f"{path} is not a Parquet file: {' '.join(str(error).split())}") from error
    if missing := [name for name in COLUMNS[path.name] if name not in table]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}")
    return table


def read_human(path: Path) -> tuple[Episode, ...]:
    """Return the episodes of one of the two public .json files, by its form. Errors: UserError, one line."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error
    return _issues(data, path) if isinstance(data, list) else (_childcare(data, path),)


def _childcare(data: object, path: Path) -> Episode:
    if not isinstance(data, dict):
        raise UserError(f"{path} must be a table with the columns question, opinions, draft_consensus and critiques")
    opinions, critiques = (_required_texts(data.get(name), path) for name in ("opinions", "critiques"))
    if len(opinions) != len(critiques):
        raise UserError(
            f"{path} has {len(opinions)} opinions and {len(critiques)} critiques: "
            "there must be one critique per opinion"
        )
    draft, question = (_required_text(data.get(name), path) for name in ("draft_consensus", "question"))
    return _written_episode(question, opinions, critiques, draft, path.stem)


def _issues(data: list[Any], path: Path) -> tuple[Episode, ...]:
    """Return an episode per issue, its statement as the draft."""
    if not data or not all(isinstance(issue, dict) for issue in data):
        raise UserError(f"{path} must be a list of issues")
    episodes = []
    for number, issue in enumerate(data, 1):
        question, opinions = _required_text(issue.get("issue"), path), _required_texts(issue.get("opinions"), path)
        draft = _required_text(issue.get("consensus_statement"), path)
        episodes.append(_written_episode(question, opinions, [None] * len(opinions), draft, f"{path.stem}_{number}"))
    return tuple(episodes)


def _written_episode(
    question: str, opinions: Sequence[str], critiques: Sequence[str | None], draft: str, name: str
) -> Episode:
    voices = tuple(
        _new_voice(f"{name}_p{number}", opinion, critique, None, {}, None, NOT_IN_FILE)
        for number, (opinion, critique) in enumerate(zip(opinions, critiques, strict=True), 1)
    )
    return Episode(name, name, yes_no_question(question), voices, draft, None, HUMAN, {"revision": NOT_IN_FILE})


def yes_no_question(question: str) -> Question:
    """Return a question of which only the words are known: its statement is that the answer is yes.

    >>> yes_no_question("Should the state pay?").statement
    'The answer to "Should the state pay?" is yes.'
    """
    yes, no = (f'The answer to "{question}" is {answer}.' for answer in ("yes", "no"))
    return Question(question_id("human", question), question, yes, no, "human")


def _required_texts(value: object, path: Path) -> list[str]:
    if not isinstance(value, list) or not value:
        raise UserError(f"{path} must have a list of texts, but has {str(value)[:60]!r}")
    return [_required_text(text, path) for text in value]


def _required_text(value: object, path: Path) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{path} must have a text, but has {str(value)[:60]!r}")
    return value
