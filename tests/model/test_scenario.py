"""Presets and settings: what is refused, and in which words."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.society import load_society
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.scenario import load_preset, parse_settings, preset_names
from parley.model.scenario_blocks import BLOCKS, FIELD_BLOCKS

GOOD = 'title = "t"\nsource = "s"\nenvironment = "round_table"\n'


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_runs(name: str, fake: object) -> None:
    """A preset that is shipped can be held from the first survey to the last round."""
    preset = load_preset(name)
    rounds = max([1, *[one.round for one in preset.interventions]])
    model = DebateModel(preset.with_settings({"repetitions": 1, "rounds": rounds}), backend=fake)
    model.run()
    assert model.round == rounds
    began = {room.id for room in model.debating_rooms if room.round}  # other topics of a preset with stages come later
    surveyed = [agent for agent in model.agents if agent.room in began and preset.surveys.survey != "never"]
    assert all(agent.attitude is not None for agent in surveyed)


@check_each(
    ("settings", "words"),
    [
        ({"fram": "x"}, "unknown field 'fram': did you mean frame"),
        ({"seets": "x"}, "did you mean seats"),
        ({"order": "fixd"}, "unknown value of order 'fixd': did you mean fixed?"),
        ({"topic": "climate"}, "unknown topic 'climate': did you mean climate_change"),
        ({"topic": "racism,racism"}, "each topic only once"),
        ({"rounds": "many"}, "rounds is 'many', but must be a whole number"),
        ({"rounds": "2.5"}, "rounds is '2.5', but must be a whole number"),
        ({"rounds": "true"}, "rounds is 'true', but must be a whole number"),
        ({"rounds": -1}, "rounds is -1, but must be a finite number of at least 0"),
        ({"repetitions": 0}, "repetitions is 0, but must be a finite number of at least 1"),
        ({"temperature": "hot"}, "temperature is 'hot', but must be a number"),
        ({"temperature": "nan"}, "temperature is 'nan', but must be a finite number"),
        ({"probe": "attitud"}, "unknown probe of topic"),
        ({"memory": "last"}, "write whole, last:K, summary:K"),
        ({"seats": "republican,libertarian"}, "unknown party 'libertarian'"),
        ({"survey": "sometimes"}, "unknown value of survey"),
        ({"environment": "round_tabel"}, "unknown environment 'round_tabel': did you mean round_table?"),
        ({"seed": -1}, "seed is -1, but must be a finite number of at least 0"),
        ({"temperature": "inf"}, "temperature is 'inf', but must be a finite number"),
        ({"top_p": "-3"}, "top_p is -3.0, but must be above 0 and at most 1"),
        ({"frame": " "}, "frame is ' ', but must be a word"),
        ({"name": "x"}, "unknown field 'name'"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(settings: dict, words: str) -> None:
    """Whatever a user mistypes is told in one line, with the nearest right names where there are some."""
    with pytest.raises(UserError) as caught:
        load_preset("three_way").with_settings(settings)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_preset_of_another_society_has_its_topics(tmp_path: Path) -> None:
    """A file that names a society and no topics: those of the society, and not those of the usual one."""
    head = 'title = "x"\nsource = "y"\nenvironment = "round_table"\nsociety = "uk"\n'
    (tmp_path / "x.toml").write_text(head + '[options]\nseats = ["first", "second"]\n', encoding="utf-8")
    topics = load_preset(str(tmp_path / "x.toml")).subject.all_topics
    assert topics
    assert all(topic.slug.startswith("uk/") for topic in topics)


def test_no_topics_are_those_of_the_society() -> None:
    """A society names the topics that are debated where nobody chooses."""
    assert load_preset("three_way").with_settings({"topic": ""}).subject.topic == load_society().topics


@check_each(
    ("text", "words"),
    [
        (GOOD + "rounds = [", "not valid TOML"),
        (GOOD + "roundz = 3", "unknown field 'roundz': did you mean rounds"),
        (GOOD + "rounds = '3.5'", "rounds is '3.5', but must be a whole number"),
        (GOOD + "topic = [1]", "topic is [1], but must be a list of names"),
        (GOOD + "[options]\nsize = 3", "unknown option of round_table"),
        (GOOD.replace("round_table", "sofa"), "unknown environment 'sofa'"),
        ('title = "t"\n', "lacks source, environment: add a line for each"),
        (GOOD + "options = 3", "options in mine.toml is 3, but must be a table"),
        (GOOD + "[options]\nseats = []", "at least one party"),
    ],
)
def test_a_broken_preset_is_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    """A user's own preset file gets the same care as the command line."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_preset(str(path))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_field_of_a_block_is_a_word_that_users_set() -> None:
    """A field that the table lacks could neither be set nor stand in the header."""
    table = {block: {word for word, home in FIELD_BLOCKS.items() if home == block} for block in BLOCKS}
    assert table == {block: {field.name for field in fields(cls)} for block, cls in BLOCKS.items()}


def test_a_preset_of_ones_own_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + 'rounds = 3\n[options]\nseats = ["democrat", "default"]')
    scenario = load_preset(str(path))
    assert (scenario.name, scenario.rounds, scenario.environment_spec.options["seats"]) == (
        "mine",
        3,
        ("democrat", "default"),
    )


def test_missing_preset_file_and_unknown_name() -> None:
    with pytest.raises(UserError, match="cannot read"):
        load_preset("nowhere/mine.toml")
    with pytest.raises(UserError, match="did you mean echo_chamber"):
        load_preset("echo_chambers")


def test_settings_need_an_equals_sign() -> None:
    with pytest.raises(UserError, match="write it as KEY=VALUE"):
        parse_settings(["frame"])
    assert parse_settings(["frame=a=b", "with-dash= 1 "]) == {"frame": "a=b", "with_dash": "1"}


def test_text_and_toml_values_mean_the_same() -> None:
    """`--set rounds=3` and `rounds = 3` in a preset are one scenario with one digest."""
    base = load_preset("echo_chamber")
    text = base.with_settings({"rounds": "3", "temperature": "1", "topic": "racism,abortion", "size": "3"})
    plain = base.with_settings({"rounds": 3, "temperature": 1.0, "topic": ["racism", "abortion"], "size": 3})
    assert text.digest() == plain.digest() != base.digest()


def test_another_environment_drops_the_options_of_the_old_one() -> None:
    moved = load_preset("echo_chamber").with_settings({"environment": "round_table", "seats": "democrat,democrat"})
    assert moved.environment_spec.options == {"seats": ("democrat", "democrat")}


@given(st.dictionaries(st.sampled_from(["rounds", "words", "asks", "seed", "repetitions"]), st.integers(1, 50)))
def test_a_header_suffices_to_rebuild_the_scenario(settings: dict[str, int]) -> None:
    """What stands in the record's header makes the same scenario again."""
    scenario = load_preset("two_way").with_settings(settings)
    plain = scenario.to_dict()
    told = {key: value for key, value in plain.items() if key not in ("name", "title", "source", "options")}
    again = load_preset("three_way").with_settings({**told, **plain["options"]})
    again = again.replace(**{key: plain[key] for key in ("name", "title", "source")})
    assert again.digest() == scenario.digest()
