"""What was said in public beside what was told in private: first partners and scores of posts, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.analysis.human.rooms import PUBLIC, first_partners, of_posts, of_run
from parley.analysis.tables import load
from parley.llm.errors import UserError


def test_the_partner_is_the_first_one(ran: Callable[..., Path]) -> None:
    """In talks of two the opinion that counts is that of the first whom one talked with, not the mean of the room."""
    tables = load(ran("dyads"))
    first = first_partners(tables)
    assert len(first) == 12
    assert all(first[first[one]] == one for one in first)
    people = of_run(tables).people.set_index(["group", "person"])
    seats = tables.agents.set_index(["room", "agent"])["seat"]
    for (room, agent), (_, other) in first.items():
        partner = people.loc[(room, seats[room, other]), "before"]
        assert people.loc[(room, seats[room, agent]), "partner"] == partner


def test_a_post_of_seven_is_the_upper_end_and_one_post_is_no_change(ran: Callable[..., Path]) -> None:
    """First 4 and last 7 on 1-7 are 0.5 and 1; who posted once has no change."""
    tables = load(ran("dyads"))
    posts = tables.utterances[tables.utterances["form"] == "post"].sort_values("iteration")
    verdicts = posts[["room", "agent", "iteration"]].assign(score=[4.0] * (len(posts) // 2) + [7.0] * (len(posts) // 2))
    found = of_posts(tables, verdicts)
    assert found.name == PUBLIC
    assert set(zip(found.people["before"], found.people["after"], strict=True)) == {(0.5, 1.0)}
    once = of_posts(tables, verdicts.drop_duplicates(["room", "agent"]))
    assert once.people["before"].isna().all()


@pytest.mark.parametrize(
    ("columns", "words"),
    [(["room"], "lacks the column"), (["room", "agent", "iteration"], "no post of this run has a score")],
)
def test_verdicts_that_are_none_are_told_in_one_line(ran: Callable[..., Path], columns: list[str], words: str) -> None:
    tables = load(ran("two_way"))
    verdicts = pd.DataFrame(columns=columns if len(columns) == 1 else [*columns, "score"])
    with pytest.raises(UserError, match=words):
        of_posts(tables, verdicts)


@pytest.mark.thorough
def test_the_commands_set_both_beside_people(ran: Callable[..., Path], tmp_path: Path) -> None:
    """From a run to a judge to the table, with the published values of posts in it."""
    folder, data = ran("dyads"), tmp_path / "data"
    data.mkdir()
    values = {"human": -0.1, "LLM": -0.2}
    (data / "debate_benchmark_human_reference.json").write_text(
        pd.Series(
            {
                "individual_level_correlations": dict.fromkeys(
                    [
                        "opinion_change_vs_initial",
                        "opinion_change_vs_first_partner_difference",
                        "tweet_change_vs_initial",
                    ],
                    values,
                ),
                "group_level_depth_mode3_gpt4omini": {"reported_opinion_SD_change": {"human": "t", "LLM": "t"}},
            }
        ).to_json()
    )
    out = tmp_path / "judge"
    assert run.main(["study", "judge", str(folder), "--llm", "oracle", "--out", str(out)]) == 0
    told = ["--data", str(data), "--verdicts", str(out / "verdicts.csv"), "--out", str(tmp_path / "human")]
    assert run.main(["study", "human", str(folder), *told]) == 0
    page = (tmp_path / "human" / "human.md").read_text()
    assert "| posts: change against own first post, r | -0.1 | -0.2 |" in page
    assert PUBLIC in page
