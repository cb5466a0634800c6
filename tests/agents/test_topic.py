"""Topics are data that anybody may add: what is shipped loads, and what is broken is told in one line that helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.language import Language
from parley.agents.persona import parties
from parley.agents.probe import scales, shared_probes
from parley.agents.question import load_questions
from parley.agents.scales import LABELLED
from parley.agents.topic import load_topic, news_names, topic_names
from parley.llm.errors import UserError
from parley.model.scenario import load_preset, preset_names

GOOD = """
title = "bats"
axis = "severity"
high_party = "democrat"
question = "Are bats a problem?"
[scales.small]
kind = "labelled"
low = 0
high = 1
labels = { 0 = "calm", 1 = "dire" }
[probes.attitude]
construct = "severity"
scale = "severity_0_10"
question = "How big a problem are bats?"
[probes.words]
construct = "severity"
scale = "small"
question = "How bad are bats?"
sentence = "Bats are {label} ({number})."
"""


def test_a_topic_file_lies_anywhere(tmp_path: Path) -> None:
    """A study of one's own keeps its topics beside it, not in the installed package."""
    path = tmp_path / "bats.toml"
    path.write_text(GOOD.replace("[scales", '[positions]\ndemocrat = "a very big problem"\n[scales'), encoding="utf-8")
    topic = load_topic(str(path))
    assert (topic.title, topic.slug, dict(topic.positions)) == ("bats", str(path), {"democrat": "a very big problem"})
    with pytest.raises(UserError, match=r"the topic file \./none\.toml does not exist: give the path"):
        load_topic("./none.toml")


def test_a_position_is_a_text(tmp_path: Path) -> None:
    told = complaint(tmp_path, GOOD.replace("[scales", "[positions]\ndemocrat = 3\n[scales"))
    assert "democrat is 3, but must be a text" in told


def put(folder: Path, text: str | bytes) -> Path:
    """Write `text` as the topic bats of a small society; return the society's folder."""
    home = folder / "cave"
    (home / "topics").mkdir(parents=True, exist_ok=True)
    (home / "parties").mkdir(exist_ok=True)
    for party in ("democrat", "green", "default"):
        (home / "parties" / f"{party}.toml").write_text(f'label = "{party}"\nperson = "a {party}"\n', encoding="utf-8")
    (home / "society.toml").write_text('debaters = ["democrat", "green"]\n', encoding="utf-8")
    (home / "topics" / "bats.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return home


def complaint(folder: Path, text: str, name: str = "bats") -> str:
    """The one line that loading `text` as a topic ends with, without the path of the society."""
    home = put(folder, text)
    with pytest.raises(UserError) as caught:
        load_topic(f"{home}/{name}")
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{home}/", "").replace(str(home), "cave")


@check_each("slug", topic_names())
def test_shipped_topics_load_with_the_same_probes(slug: str) -> None:
    """Every scenario takes every topic: each has all probes, a party that stands high, and a known axis."""
    topic = load_topic(slug)
    assert set(topic.probes) == set(load_topic("gun_violence").probes)
    assert topic.high_party in parties()
    assert topic.axis in ("severity", "agreement")
    assert topic.heading[0].isupper()
    assert topic.question.endswith("?")


PROBES = [(slug, name) for slug in [*topic_names(), *news_names()] for name in load_topic(slug).probes]


@pytest.mark.parametrize("slug", news_names())
def test_news_is_believed_or_not(slug: str) -> None:
    """Whoever goes through all topics of debates meets no news: its axis is belief, and no party is said to be high on it."""
    item = load_topic(slug)
    assert (item.axis, item.high_party, item.in_backstories) == ("belief", "", False)
    assert item.probe("attitude").construct == "belief"
    assert item.claim
    assert slug not in topic_names()


@check_each(("slug", "name"), PROBES)
def test_every_probe_reads_its_own_form(slug: str, name: str) -> None:
    """The sentence that a probe asks for, filled in by an obedient model, is read as the point that was meant."""
    probe = load_topic(slug).probe(name)
    labels, kind = probe.scale.labels, probe.scale.kind
    form = probe.sentence if kind == LABELLED else "{number}"
    for point in probe.scale.points:
        said = form.replace("{label}", labels.get(point, "")).replace("{number}", str(point))
        assert probe.read(said) == (point, None)


@check_each(("slug", "name"), PROBES)
def test_every_question_is_whole(slug: str, name: str) -> None:
    """A question names its range and its anchors and leaves no slot open."""
    probe = load_topic(slug).probe(name)
    asked = probe.ask("debate")
    if name.endswith("_phrases"):
        assert asked.endswith("Answer in one sentence.")
    else:
        assert f"from {probe.scale.low} to {probe.scale.high}" in asked
        assert probe.scale.anchors in asked
    assert not set("{}") & set(asked)
    assert "the debate" in asked


def test_labelled_question_shows_the_form() -> None:
    """The form is what the reader expects back: word and number."""
    asked = load_topic("racism").probe("attitude_labelled").ask("conversation")
    assert asked.endswith("Answer in exactly this form: I think racism is a [word] problem ([number]).")


def test_every_shipped_scale_is_used() -> None:
    """A scale that no probe uses is one that nobody has tried."""
    used = {probe.scale.name for slug in [*topic_names(), *news_names()] for probe in load_topic(slug).probes.values()}
    used |= {probe.scale.name for probe in shared_probes().values()}
    used |= {load_topic("blackout").probe(f"{name}@phrases").scale.name for name in ("attitude", "agreement")}
    used |= {load_preset(name).surveys.probe.partition("@")[2] for name in preset_names()} - {""}
    used |= {probe.scale.name for probe in load_topic("Bats are fun.").probes.values()}
    used |= {probe.scale.name for probe in load_questions()[0].subject.probes.values()}
    assert used == set(scales())


def test_probe_polarity_turns_the_axis_round(tmp_path: Path) -> None:
    """An item worded the other way round counts the other way: a 2 on 0-10 is an attitude of 8."""
    home = put(tmp_path, GOOD.replace("[probes.words]", "polarity = -1\n[probes.words]"))
    assert load_topic(f"{home}/bats").probe("attitude").attitude(2) == 8


def test_a_new_topic_is_one_file(tmp_path: Path) -> None:
    """The example of the errors below is itself good, with a scale of its own."""
    assert load_topic(f"{put(tmp_path, GOOD)}/bats").probe("words").read("Bats are dire (1).") == (1, None)


@check_each(
    ("old", "new", "told"),
    [
        ('axis = "severity"\n', "", "topic bats lacks axis"),
        ('title = "bats"', 'titel = "bats"', "unknown key in topic bats 'titel': did you mean title"),
        ('title = "bats"', "title = 3", "title in topic bats is 3, but must be a text"),
        ('title = "bats"', "title = bats", "bats.toml is not valid TOML"),
        ('construct = "severity"\nscale = "small"', 'scale = "small"', "probe words of topic bats lacks construct"),
        ('scale = "severity_0_10"', 'scale = "severity_0_1"', "did you mean severity_0_10"),
        ('scale = "severity_0_10"\n', "", "unknown scale of probe attitude in topic bats"),
        ("{label}", "{lable}", "a labelled scale needs a sentence with {label}"),
        ('sentence = "Bats are {label} ({number})."', "", "a labelled scale needs a sentence with {label}"),
        ("[probes.words]", "polarity = 2\n[probes.words]", "polarity is 2, but must be 1, -1 or 0"),
        (
            "[probes.words]",
            "polarity = true\n[probes.words]",
            "polarity in probe attitude of topic bats is True, but must be a whole",
        ),
        ("[probes.words]", "polaritty = 1\n[probes.words]", "did you mean polarity"),
        (', 1 = "dire" }', " }", "scale small: label every point"),
        ('1 = "dire"', 'one = "dire"', "one = 'dire' must be a whole number"),
        ('1 = "dire"', "1 = 1", "1 = 1 must be a whole number with a text"),
        (
            'labels = { 0 = "calm", 1 = "dire" }',
            'labels = "calm"',
            "labels in scale small of bats.toml is 'calm', but must be a table",
        ),
        ("low = 0", "low = 0.5", "low in scale small of bats.toml is 0.5, but must be a whole number"),
        ("low = 0\n", "", "scale small of bats.toml lacks low"),
        ("[scales.small]", "[scale.small]", "unknown scale of probe words in topic bats 'small'"),
        (GOOD[GOOD.index("[probes.attitude]") :], "", "topic bats has no survey questions"),
        (
            GOOD[GOOD.index("[probes.attitude]") :],
            "[probes]\nattitude = 1",
            "attitude in topic bats is 1, but must be a table",
        ),
        (GOOD[GOOD.index("[scales.small]") :], "probes = 3", "probes in topic bats is 3, but must be a table"),
    ],
)
def test_a_broken_topic_is_told_in_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    """Whoever adds a topic reads what is wrong and where, not a traceback."""
    assert old in GOOD
    assert told in complaint(tmp_path, GOOD.replace(old, new, 1))


def test_unknown_names_bring_the_nearest(tmp_path: Path) -> None:
    """A slip of the finger costs one look, in the topic as in its probe."""
    assert complaint(tmp_path, GOOD, "bat") == "unknown topic of cave 'bat': did you mean bats, ballot, bank?"
    with pytest.raises(UserError, match="unknown probe of topic racism 'atitude': did you mean attitude"):
        load_topic("racism").probe("atitude")


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a broken file, not a crash."""
    home = put(tmp_path, b"\xff\xfe")
    with pytest.raises(UserError, match=r"bats\.toml is not valid TOML"):
        load_topic(f"{home}/bats")


def test_a_missing_scale_file_is_told(tmp_path: Path) -> None:
    """The path is in the line."""
    with pytest.raises(UserError, match=r"cannot read .*none/scales\.toml: No such file"):
        scales(Language("none", tmp_path / "none"))


def test_a_probe_for_any_topic_is_found_in_every_topic(tmp_path: Path) -> None:
    """Confidence is asked wherever it is wanted; what it measures has no place on a topic's axis."""
    for topic in (load_topic("racism"), load_topic(f"{put(tmp_path, GOOD)}/bats")):
        asked = topic.probe("confidence")
        assert (asked.scale.low, asked.scale.high, asked.on_axis) == (0, 100, False)
        with pytest.raises(ValueError, match="does not measure the attitude to the topic"):
            asked.attitude(80)


def test_a_public_probe_is_the_same_question() -> None:
    """Only who is said to hear the answer differs: a gap between the two is then due to that."""
    private, public = (load_topic("racism").probe(name) for name in ("attitude", "attitude:public"))
    assert (public.question, public.scale, public.polarity) == (private.question, private.scale, private.polarity)
    assert public.ask("debate").startswith("Before everybody who takes part in the debate: ")
    with pytest.raises(UserError, match="unknown probe of topic racism 'atitude:public'"):
        load_topic("racism").probe("atitude:public")


def test_a_question_on_another_scale_of_its_construct() -> None:
    """NAME@SCALE asks the same with other points; the axis and its direction stay those of the probe."""
    topic = load_topic("racism")
    six, seven = topic.probe("agreement@agreement_1_6"), topic.probe("agreement")
    assert (six.name, six.question, six.polarity) == ("agreement@agreement_1_6", seven.question, seven.polarity)
    assert "from 1 to 6, where 1 means certainly disagree" in six.ask("debate")
    assert [six.attitude(point) for point in (1, 6)] == [0.0, 10.0]
    for name in ("agreement@severity_1_7", "agreement@", "attitude@severity_labelled"):
        with pytest.raises(UserError, match="unknown scale for probe"):
            topic.probe(name)
