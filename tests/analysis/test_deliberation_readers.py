"""Public data as episodes: a small file made to the public Parquet schema, and the real small files where they are at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_checks import check_each
from synthetic import episodes

from parley.analysis.deliberation.episode import HUMAN, read_episodes, write_episodes
from parley.analysis.deliberation.episode_readers import (
    COMPARISONS,
    POSITIONS,
    SURVEY,
    read_all,
    read_any,
    read_habermas,
)
from parley.llm.errors import UserError
from parley.studies.representatives.representation import representation_cases

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "cc_by"
PEOPLE = ("ann", "bob")
Rows = list[dict[str, object]]


def _question(number: int) -> dict[str, object]:
    return {
        "question.id": f"q{number}",
        "question.text": f"Should we {number}?",
        "question.affirming_statement": f"We should {number}.",
        "question.negating_statement": f"We should not {number}.",
        "question.topic": 7,
        "question.split": "train",
    }


def _compared(person: str, number: int, iteration: int) -> dict[str, object]:
    """A row of the comparisons as the public schema has it: lists for candidates and ratings, MOCK and nulls among them."""
    ids = [f"r{number}_{iteration}_{place}" for place in range(2)]
    words = {"ann": ["AGREE", "NEUTRAL"], "bob": ["STRONGLY_DISAGREE", "MOCK"]}[person]
    later = iteration == 1
    return {
        "launch_id": "launch1",
        "round_id": f"round{number}",
        "iteration_index": iteration,
        "worker_id": f"w_{person}" if person == "ann" else None,
        "metadata.participant_id": f"p_{person}",
        **_question(number),
        "own_opinion.text": f"{person} on {number}",
        "own_opinion.metadata.provenance": "HUMAN_CITIZEN",
        "critique.text": f"{person} misses {number}" if later else None,
        "critique.metadata.provenance": "HUMAN_CITIZEN" if later else None,
        "top_candidate.metadata.id": f"r{number}_0_0" if later else None,
        "top_candidate.text": f"draft {number}" if later else None,
        "top_candidate.metadata.provenance": "MODEL_MEDIATOR" if later else None,
        "candidates.metadata.id": ids,
        "candidates.text": [f"statement {one}" for one in ids],
        "ratings.agreement": words,
        "rankings.numerical_ranks": [0, 1],
    }


def _position(person: str, number: int, time: int, word: str) -> dict[str, object]:
    return {
        "launch_id": "launch1", "worker_id": None, "metadata.participant_id": f"p_{person}", "question.id": f"q{number}",
        "rating_index": time, "ratings.agreement": [word], "metadata.provenance": "HUMAN_CITIZEN",
    }  # fmt: skip


def _surveyed(person: str, number: int) -> dict[str, object]:
    return {
        "metadata.participant_id": f"p_{person}", "question.id": f"q{number}", "worker_id": None,
        "candidate.metadata.id": f"r{number}_1_0", "candidate.text": f"revision {number}",
        "candidate.metadata.provenance": "MODEL_MEDIATOR", "opinion.text": f"{person} on {number}",
    }  # fmt: skip


def public(folder: Path, change: Callable[[dict[str, Rows]], None] = lambda tables: None) -> Path:
    """Two people, two rounds of one launch; bob is not in the second."""
    seats = [("ann", 1), ("bob", 1), ("ann", 2)]
    tables: dict[str, Rows] = {
        COMPARISONS: [_compared(*seat, iteration) for seat in seats for iteration in (0, 1)],
        POSITIONS: [_position("ann", 1, 0, "AGREE"), _position("ann", 1, 1, "STRONGLY_AGREE"),
                    _position("bob", 1, 0, "MOCK"), _position("ann", 2, 0, "SOMEWHAT_DISAGREE")],
        SURVEY: [_surveyed(*seat) for seat in seats],
    }  # fmt: skip
    change(tables)
    folder.mkdir(exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / name)
    return folder


def test_the_public_schema_becomes_episodes(tmp_path: Path) -> None:
    """Statements, ratings by their candidate, positions before and after; MOCK and who is away are missing, with reasons."""
    first, second = read_habermas(public(tmp_path / "hm"))
    assert (first.id, first.session, first.source) == ("round1", "launch1", HUMAN)
    assert (first.draft, first.revision) == ("draft 1", "revision 1")
    assert (first.question.statement, first.question.topic) == ("We should 1.", "7")
    ann, bob = first.voices
    assert (ann.participant, bob.participant) == ("w_ann", "p_bob")
    assert (ann.opinion, ann.critique) == ("ann on 1", "ann misses 1")
    assert (ann.position, ann.after, ann.agreement) == (6, 7, {"draft": 6, "revision": 6})
    assert (bob.position, bob.agreement) == (None, {"draft": 1, "revision": 1})
    assert bob.reasons["position"] == "not in the file"
    assert second.participants == first.participants
    fields = ("opinion", "critique", "position", "after", "agreement.draft", "agreement.revision")
    assert second.voices[1].reasons == dict.fromkeys(fields, "not in this round")
    assert second.voices[0].position == 3
    assert read_episodes(write_episodes([first, second], tmp_path / "e.jsonl")) == (first, second)
    assert [case.key for case in representation_cases([first, second]).cases] == [
        "round1 w_ann",
        "round1 p_bob",
        "round2 w_ann",
    ]


def test_a_round_without_a_statement_has_none(tmp_path: Path) -> None:
    def change(tables: dict[str, Rows]) -> None:
        tables[SURVEY] = [row | {"candidate.metadata.provenance": "HUMAN_MEDIATOR"} for row in tables[SURVEY]]
        tables[COMPARISONS] = [row for row in tables[COMPARISONS] if row["iteration_index"] == 0]

    first, _ = read_habermas(public(tmp_path / "hm", change))
    assert (first.draft, first.revision) == (None, None)
    assert set(first.reasons) == {"draft", "revision"}
    assert first.voices[0].agreement == {}


def test_what_is_not_that_schema_is_one_line(tmp_path: Path) -> None:
    def change(tables: dict[str, Rows]) -> None:
        for row in tables[POSITIONS]:
            del row["rating_index"]

    with pytest.raises(UserError, match="lacks the column rating_index"):
        read_habermas(public(tmp_path / "lacks", change))
    whole = public(tmp_path / "broken")
    (whole / SURVEY).write_bytes(b"no parquet")
    with pytest.raises(UserError, match="hm_all_round_survey_responses") as told:
        read_habermas(whole)
    assert "\n" not in str(told.value)
    (whole / SURVEY).unlink()
    with pytest.raises(UserError, match="cannot read"):
        read_habermas(whole)

    def nobody(tables: dict[str, Rows]) -> None:
        tables[COMPARISONS] = [row | {"own_opinion.metadata.provenance": "MOCK"} for row in tables[COMPARISONS]]

    with pytest.raises(UserError, match="has no opinion written by a person"):
        read_habermas(public(tmp_path / "nobody", nobody))


def test_any_path_is_read_by_what_it_is(tmp_path: Path) -> None:
    folder, own = public(tmp_path / "hm"), write_episodes(episodes(2), tmp_path / "own.jsonl")
    assert len(read_all([folder, own])) == 8
    with pytest.raises(UserError, match="hm is given more than once"):
        read_all([folder, folder])
    with pytest.raises(UserError, match="has no episodes"):
        read_any(tmp_path)


@check_each(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("3", "must be a table"),
        ("[]", "must be a list of issues"),
        ('[{"issue": "Q?", "opinions": [], "consensus_statement": "S."}]', "must have a list of texts"),
        (
            '{"question": "Q?", "opinions": ["a"], "critiques": ["b", "c"], "draft_consensus": "D."}',
            "there must be one critique per opinion",
        ),
        ('{"question": 3, "opinions": ["a"], "critiques": ["b"], "draft_consensus": "D."}', "must have a text"),
    ],
)
def test_what_is_no_public_json_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "public.json"
    path.write_text(text)
    with pytest.raises(UserError, match=says):
        read_any(path)


def test_the_human_episode_on_childcare() -> None:
    path = DATA / "habermas_episode_childcare.json"
    if not path.is_file():
        pytest.skip(f"no real data beside the checkout: {path.name}")
    (episode,) = read_any(path)
    told = json.loads(path.read_text())
    assert [voice.critique for voice in episode.voices] == told["critiques"]
    assert (episode.source, episode.draft, len(representation_cases([episode]).cases)) == (
        HUMAN,
        told["draft_consensus"],
        5,
    )


def test_the_ten_human_issues() -> None:
    path = DATA / "habermas_real_issues_opinions_consensus.json"
    if not path.is_file():
        pytest.skip(f"no real data beside the checkout: {path.name}")
    found = read_any(path)
    assert len(found) == 10
    assert len({name for one in found for name in one.participants}) == sum(len(one.voices) for one in found)
    assert representation_cases(found).cases == ()
    assert len(representation_cases(found, written=False).cases) == sum(len(one.voices) for one in found)


def test_the_public_columns_are_read_as_numpy_lists(tmp_path: Path) -> None:
    """What pandas makes of a Parquet list is an array: compared to a list it would be an array of booleans."""
    table = pd.read_parquet(public(tmp_path / "hm") / COMPARISONS)
    assert type(table["ratings.agreement"][0]).__name__ == "ndarray"
