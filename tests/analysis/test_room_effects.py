"""The four issues of AgentSociety: what news and links change in whole rooms, planted and null."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from parley.analysis.studies.intervention import InterventionResult, intervention
from parley.analysis.studies.room_effects import paired_values
from parley.analysis.tables import Tables, tables
from parley.llm.backends import open_spec
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import Scenario, load_preset

SMALL: dict[str, Any] = {"repetitions": 5, "rounds": 3, "size": 8}


def tables_of(scenario: Scenario) -> Tables:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder, backend=open_spec(scenario.models.llm))
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def studied(preset: str, llm: str = "oracle", placebo: bool = False, **settings: Any) -> InterventionResult:
    study = intervention(load_preset(preset, SMALL | {"llm": llm} | settings), placebo)
    scenario = next(study)
    try:
        while True:
            scenario = study.send(tables_of(scenario))
    except StopIteration as done:
        result: InterventionResult = done.value
        return result


def effects(result: InterventionResult, contrast: str = "with - without") -> pd.Series:
    rows = result.rooms[result.rooms["contrast"] == contrast]
    return rows.set_index("measure")["effect"]


def test_values_of_a_room_by_hand() -> None:
    """Variance and distance from the middle after the last round, shares of acts from the first intervention on."""
    found = tables_of(load_preset("hurricane", SMALL | {"llm": "oracle"}))
    values = {measure: pair["with"] for measure, pair in paired_values(found, found, 3, ()).items()}
    room = values["variance"].index[0]
    last = found.attitudes[(found.attitudes["room"] == room) & (found.attitudes["round"] == 3)]["expected"]
    acts = found.acts[(found.acts["room"] == room) & (found.acts["round"] == 3)]["act"]
    assert values["variance"][room] == pytest.approx(last.var(ddof=1))
    assert values["extremity"][room] == pytest.approx((last - 5).abs().mean())
    assert values["active"][room] == pytest.approx((acts != "nothing").mean())
    assert values["shares"][room] == pytest.approx((acts == "repost").mean())


def test_only_agents_with_a_rating_in_both_branches_are_compared() -> None:
    """A rating that is missing in one branch is left out of the other too, so that nothing differs where nothing changed."""
    found = tables_of(load_preset("hurricane", SMALL | {"llm": "oracle"}))
    unread = (found.probes["round"] == 3) & (found.probes["agent"] % 3 == 0)
    fewer = replace(found, probes=found.probes.assign(rating=found.probes["rating"].mask(unread)))
    pair = paired_values(found, fewer, 3, ())["probe mobility"]
    assert pair["without"].equals(pair["with"].rename("without"))
    whole = paired_values(found, found, 3, ())["probe mobility"]
    assert not whole["without"].equals(pair["without"])


def test_a_payment_relieves_by_what_was_planted_and_an_empty_message_by_nothing() -> None:
    """Planted: 2 points of worry and 1 of low spirits. Found exactly; the placebo changes neither."""
    result = studied("basic_income", placebo=True)
    assert effects(result)[["probe money_worry", "probe low_spirits"]].tolist() == [-2.0, -1.0]
    assert effects(result, "placebo - without")[["probe money_worry", "probe low_spirits"]].tolist() == [0.0, 0.0]
    assert (result.rooms["rooms"] == 5).all()


def test_where_nothing_is_planted_nothing_is_found() -> None:
    """events=0: news changes no answer."""
    assert effects(studied("basic_income", "oracle,events=0"))["probe money_worry"] == 0.0
    assert effects(studied("hurricane", "oracle,events=0"))["probe mobility"] == 0.0


def test_people_stay_at_home_until_the_storm_has_passed() -> None:
    """Planted: 2 points of mobility while the last news says to stay inside."""
    storm = "A hurricane reaches the coast. All are told to stay inside."
    news = [f"shock round=2 text='{storm}'", "shock round=3 text='The hurricane has passed.'"]
    assert effects(studied("hurricane", interventions=news[:1]))["probe mobility"] == -2.0
    assert effects(studied("hurricane", interventions=news))["probe mobility"] == 0.0


@pytest.mark.thorough
def test_cut_links_polarise_where_lines_influence_and_only_there() -> None:
    """Planted: the oracle moves toward what it hears. Without influence, drift and noise the same cut changes nothing at all."""
    cut = {"size": 16, "rounds": 4}
    found = studied("gun_polarisation", **cut).rooms.set_index("measure")
    assert found.loc["variance", "effect_low"] > 0
    assert effects(studied("gun_polarisation", "oracle,kappa=0,mu=0,sigma=0", **cut)).abs().max() == 0.0


def test_an_angry_message_moves_those_who_hear_it() -> None:
    """A fifth of the people hear it: their opinions move toward its end of the axis, by more than those of the others."""
    result = studied("inflammatory", size=20, rounds=4)
    last = result.effects[(result.effects["round"] == 4) & (result.effects["measure"] == "attitude")]
    means = last.groupby("told")["effect"].mean()
    assert means[True] > means[False]
    assert means[True] > 0


def test_german_news_is_read() -> None:
    """The same events in a German society."""
    text = "Ab heute erhält jeder Erwachsene 1.000 Euro im Monat vom Staat."
    news = [f"shock round=2 text='{text}'"]
    parties = ["first", "second"]
    result = studied("basic_income", society="germany", topic="zuwanderung", parties=parties, interventions=news)
    assert effects(result)["probe money_worry"] == -2.0


def test_a_person_of_the_users_network_keeps_its_history(tmp_path: Path) -> None:
    """Row by row: who has a history says it in every prompt; who has none has the plain persona."""
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cem\ncem,ann\n", encoding="utf-8")
    rows = ["node,party,history", 'ann,democrat,"Trees first, always."', "bob,republican,", "cem,democrat,I sail."]
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    graph = f"file,path={tmp_path / 'edges.csv'},node_file={tmp_path / 'people.csv'}"
    settings = {"llm": "oracle", "size": 3, "graph": graph, "repetitions": 2, "rounds": 1}
    model = DebateModel("spread", **settings)
    for room in model.rooms:
        stories = [agent.persona.backstory for agent in room.members.values()]
        assert stories[0].endswith('in your own words: "Trees first, always."')
        assert "in your own words" not in stories[1]
        assert stories[2].endswith('"I sail."')
