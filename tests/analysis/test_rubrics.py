"""One judge for all rubrics: what cannot be read is missing with a reason, and a user's own rubric works."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.analysis.judging import (
    RUBRICS,
    Item,
    Judge,
    compose,
    judge_by_rubric,
    judge_item,
    load_rubric,
    read_reply,
)
from parley.analysis.tables import load
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.prompts import Template
from parley.llm.request import Reply
from parley.model.missing_replies import Unreadable

OWN = """
answers = ["Rude", "Civil"]
rules = "You judge how people talk on {topic}."
case = "Statement: {statement}\\nAnswer with Rude or Civil."

[[examples]]
statement = "You fool."
answer = "Rude"
"""


def bar(title: str, total: int, unit: str = "call") -> nullcontext[Callable[[int], object]]:
    return nullcontext(lambda steps: None)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "civility.toml"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize("name", sorted(path.stem for path in RUBRICS.glob("*.toml")))
def test_what_cannot_be_read_is_missing_with_a_reason(name: str) -> None:
    """For every shipped rubric: a guess in place of a verdict would be falsified data."""
    rubric = load_rubric(name)
    slots = dict.fromkeys(Template(rubric.case).slots - {"low", "high", "anchors", "points", "first", "second"}, "x")
    item = Item((), slots, pair=("One.", "Two.") if rubric.both_orders else None)
    first, last = rubric.scale.answers[0], rubric.scale.answers[-1]
    bad = ["", "I cannot say.", "99", f"{first} or {last}", "perhaps", Reply.failed("timeout")]
    for reply in bad:
        (found,) = drive([judge_item(rubric, item, 0)], Fake(lambda request, reply=reply: reply))
        assert found.value is None, reply
        assert found.reason
    for place, answer in zip(rubric.scale.points, rubric.scale.answers, strict=True):
        assert read_reply(rubric, Reply(answer)).value == place


def test_a_rubric_of_ones_own_works_from_file_to_table(own: Path, ran: Callable[..., Path], tmp_path: Path) -> None:
    """With examples as turns of a chat; a turn without words is not asked about."""
    tables, rubric = load(ran("two_way")), load_rubric(str(own))
    tables.utterances.loc[0, ["text", "reason"]] = [None, "refusal"]
    seen: list[list[str]] = []

    def answer(request: object) -> str:
        seen.append([message.content for message in request.messages])
        return "Civil." if len(seen) % 2 else "both"

    found = judge_by_rubric(rubric, tables, Judge(Fake(answer), bar), 0)
    said = found[found["text"].notna()]
    assert len(seen) == len(said) == len(found) - 1
    assert (found.loc[0, "reasons"], found["civility"].isna()[0]) == ("refusal", True)
    assert said["civility"].dropna().eq(1).all()
    assert set(said.loc[said["civility"].isna(), "reasons"]) == {"no_label"}
    assert seen[0][0].startswith("You judge how people talk on ")
    assert seen[0][1:3] == ["Statement: You fool.\nAnswer with Rude or Civil.", "Rude"]


def test_the_command_takes_a_rubric(own: Path, ran: Callable[..., Path], tmp_path: Path) -> None:
    """It stops where nothing can be read, and goes on when told to; a second rubric does not fit into the folder."""
    command = [
        "study",
        "judge",
        str(ran("two_way")),
        "--llm",
        "fake",
        "--rubric",
        str(own),
        "--out",
        str(tmp_path / "out"),
    ]
    assert run.main(command) == 2
    assert run.main([*command, "--keep-going"]) == 0
    found = pd.read_csv(tmp_path / "out" / "verdicts.csv")
    assert found["civility"].isna().all()
    assert set(found["reasons"]) == {"unscripted"}
    own.write_text(OWN.replace("You judge", "Judge"))
    assert run.main([*command, "--keep-going"]) == 2


def test_a_judge_stops_after_twenty_unreadable_answers() -> None:
    rubric, asked = load_rubric("alignment"), []
    items = [Item((number,), {"question": "q", "statement": "a", "person": "p"}) for number in range(50)]
    with pytest.raises(Unreadable, match="20 of 20 verdicts"):
        Judge(Fake(lambda request: asked.append(request) or "hm"), bar, "m", False).judge_items(rubric, items, 0)
    assert len(asked) == 20


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("{statement}", "it"), "lacks {statement}"),
        (("{topic}", "{weather}"), "has {weather}"),
        (('answers = ["Rude", "Civil"]', 'scale = "none"'), "names an unknown scale"),
        (("rules", "rule"), "unknown key"),
        (('answer = "Rude"', 'answer = "Mean"'), "example"),
    ],
)
def test_a_broken_rubric_is_told_in_one_line(own: Path, change: tuple[str, str], says: str) -> None:
    own.write_text(OWN.replace(*change))
    with pytest.raises(UserError, match=says):
        compose(load_rubric(str(own)), Item((), {"statement": "x"}, {"topic": "racism"}), 0)
