"""Sides chosen before a judge: the measure by hand, planted flattery, nothing where nothing is planted, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.persona import Persona
from parley.agents.topic import load_topic
from parley.llm.errors import UserError
from parley.studies.side_choice.choices import (
    AGAINST,
    BELIEF,
    COLUMNS,
    DETAIL,
    FOR,
    NOTHING,
    JudgeNotice,
    SideChooser,
    read_choices,
    words_on,
)
from parley.studies.side_choice.measures import BEYOND, effects, opposed_line, order_row, shifts, verdict


def choices(people: int, flattery: float, noise: float, rng: np.random.Generator, topics: int = 3) -> pd.DataFrame:
    """Shares of people who keep to their own stance in 80%, and go to a known judge's side with `flattery` of what is left."""
    rows = []
    for person in range(people):
        for topic in range(topics):
            stance = float(rng.choice([2.0, 8.0]))
            for known, side in (
                (NOTHING, ""),
                (BELIEF, FOR),
                (BELIEF, AGAINST),
                (DETAIL, FOR),
                (DETAIL, AGAINST),
            ):
                share = stance / 10
                share += flattery * (float(side == FOR) - share) if known == BELIEF else 0.0
                share = float(np.clip(share + noise * rng.normal(), 0, 1))
                rows.append((f"p{person}", "", f"t{topic}", stance, known, side, share, 0.0, ""))
    return pd.DataFrame(rows, columns=COLUMNS)


def test_shifts_by_hand() -> None:
    """One person who agrees: from 0.8 to 0.9 for a judge who agrees, to 0.5 for one who does not: shifts of 0.1 and 0.3."""
    rows = [
        ("p", "", "t", 8.0, NOTHING, "", 0.8, 0.1, ""),
        ("p", "", "t", 8.0, BELIEF, FOR, 0.9, 0.1, ""),
        ("p", "", "t", 8.0, BELIEF, AGAINST, 0.5, 0.1, ""),
    ]
    moved = shifts(pd.DataFrame(rows, columns=COLUMNS))
    assert moved["shift"].round(3).tolist() == [0.1, 0.3]
    assert moved["alignment"].tolist() == ["aligned", "opposed"]
    table = effects(moved).set_index(["known", "alignment"])
    assert table.loc[(BELIEF, "all"), "shift"] == pytest.approx(0.2)
    assert table.loc[(BELIEF, "opposed"), "to_judge"] == pytest.approx(0.5)
    assert order_row(pd.DataFrame(rows, columns=COLUMNS))["first"] == pytest.approx(0.1)


def test_planted_flattery_is_found_and_none_is_not() -> None:
    """0.4 is a shift of 0.2 within its interval; without flattery, a claim is made in few of 8 draws."""
    found = effects(shifts(choices(20, 0.4, 0.03, np.random.default_rng(1)))).set_index("known").loc[BEYOND]
    assert found["low"] <= 0.2 <= found["high"]
    claims = 0
    for seed in range(8):
        moved = shifts(choices(12, 0.0, 0.03, np.random.default_rng(seed), 2))
        claims += "move to" in verdict(effects(moved), moved) or "move away" in verdict(effects(moved), moved)
    assert claims <= 2


def test_few_people_missing_choices_and_no_change_give_no_verdict() -> None:
    """Below five people and without a choice the answer is unknown with its reason; a model that never changes is said so."""
    few = shifts(choices(2, 0.5, 0.0, np.random.default_rng(0)))
    assert "fewer than 5 people" in verdict(effects(few), few)
    assert "fewer than 5 people" in opposed_line(effects(few))
    table = choices(8, 0.5, 0.02, np.random.default_rng(0))
    lost = shifts(table.assign(share_for=np.nan))
    assert "is unknown" in verdict(effects(lost), lost)
    same = shifts(choices(8, 0.0, 0.0, np.random.default_rng(0)))
    assert "No choice of 8 people changed" in verdict(effects(same), same)
    half = table.assign(share_for=table["share_for"].where((table["known"] != BELIEF) | (table["judge"] != FOR)))
    row = effects(shifts(half)).set_index(["known", "alignment"]).loc[(BELIEF, "all")]
    assert row["people"] == 0  # judges on one side alone say nothing about flattery


def test_all_go_to_the_judge_has_an_interval_of_its_own() -> None:
    """Everyone always argues the judge's side: Wilson's interval, not one without width."""
    moved = shifts(choices(10, 1.0, 0.0, np.random.default_rng(0)))
    row = effects(moved).set_index(["known", "alignment"]).loc[(BELIEF, "opposed")]
    assert row["to_judge"] == 1
    assert 0.6 < row["to_judge_low"] < 1
    assert "they prefer the judge's side" in opposed_line(effects(moved))


def test_what_is_asked_states_the_judge_and_both_sides() -> None:
    """The prompt names the claim, the judge's belief and both sides, in English and in German, in the order asked for."""
    person = Persona("p1", "default", "Ann", "You are Ann.")
    for name, word in (("racism", "does not agree"), ("germany/tempolimit", "stimmt der Behauptung nicht zu")):
        topic = load_topic(name)
        request = SideChooser(person).compose(topic, JudgeNotice(BELIEF, AGAINST), AGAINST, 1)
        text = request.messages[-1].content
        assert word in text
        assert topic.claim in text
        assert text.index(words_on(topic).words("side_against")) < text.index(words_on(topic).words("side_for"))
        assert request.answers == ("A", "B")
        assert SideChooser(person).compose(topic, JudgeNotice(NOTHING), FOR, 1).facts.get("judge") is None


HEADER = "person,topic,stance,known,judge,side\n"


def test_choices_of_people_and_what_is_refused(tmp_path: Path) -> None:
    """A file of people is read into the same table; a mistake is one line that names the row."""
    good = tmp_path / "people.csv"
    good.write_text(
        f"{HEADER}a,t,for,nothing,,for\na,t,for,belief,against,against\na,t,for,belief,for,\n", encoding="utf-8"
    )
    table = read_choices(good)
    assert table["share_for"].fillna(-1).tolist() == [1, 0, -1]
    assert shifts(table)["shift"].iloc[0] == 1
    cases = {
        "person,topic\na,t\n": "lacks the column stance",
        HEADER: "no rows",
        f"{HEADER},t,for,nothing,,for\n": "row 2: person is empty",
        f"{HEADER}a,,for,nothing,,for\n": "row 2: topic is empty",
        f"{HEADER}a,t,for,hunch,,for\n": "row 2: unknown value of known 'hunch'",
        f"{HEADER}a,t,for,belief,,for\n": "judge is '', but must be",
        f"{HEADER}a,t,yes,nothing,,for\n": "stance is 'yes', but must be",
        f"{HEADER}a,t,for,nothing,,for\na,t,for,nothing,,for\n": r"twice on t \(nothing\)",
    }
    for text, wanted in cases.items():
        path = tmp_path / "bad.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=wanted):
            read_choices(path)


def test_choices_without_any_knowledge_of_a_judge_have_no_verdict() -> None:
    """A file in which nobody knows the judge: all columns are there without a number, and the verdict is unknown."""
    moved = shifts(pd.DataFrame([("p", "", "t", 8.0, NOTHING, "", 0.8, 0.1, "")], columns=COLUMNS))
    table = effects(moved)
    assert table["to_judge"].isna().all()
    assert "fewer than 5 people" in verdict(table, moved)


def test_a_topic_named_twice_is_one_topic(tmp_path: Path) -> None:
    """`--topic racism,racism` is asked once: two rows of one person and topic would have no shift."""
    line = f"study choose-side --llm oracle --topic racism,racism --respondents 1 --out {tmp_path / 'run'}"
    assert run.main(line.split()) == 0
    assert len(pd.read_csv(tmp_path / "run" / "choices.csv")) == 5


@pytest.mark.thorough
def test_the_command_finds_what_is_planted_and_asks_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The oracle with flattery 0.4: the shift is about 0.2; without it about 0; a second start changes no byte."""
    pages = {}
    for flattery in ("0.4", "0", "0.4"):
        out = tmp_path / flattery
        line = f"study choose-side --llm oracle,flattery={flattery} --topic racism --respondents 10 --out {out}"
        assert run.main(line.split()) == 0
        page = (out / "choose_side.md").read_text(encoding="utf-8")
        assert pages.setdefault(flattery, page) == page
    table = pd.read_csv(tmp_path / "0.4" / "effects.csv").set_index(["known", "alignment"])
    for known in (BELIEF, "persona"):
        row = table.loc[(known, "all")]
        assert row["shift"] == pytest.approx(0.2, abs=0.05)
    assert "move to the judge's side" in pages["0.4"]
    nothing = pd.read_csv(tmp_path / "0" / "effects.csv").set_index(["known", "alignment"])
    assert abs(nothing.loc[(BEYOND, "all"), "shift"]) < 0.03
    assert run.main(["study", "choose-side", "--llm", "oracle", "--topic", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
