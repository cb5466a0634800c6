"""The model in the box: it loads with no network, answers what it is asked, and says what it is."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.agent import Debater
from parley.agents.persona import load_personas
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.pocket import WEIGHTS, organisms
from parley.llm.errors import UserError
from parley.llm.request import DECLINED, Backend, Message, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.events import Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder


@pytest.fixture(scope="module")
def pocket() -> Backend:
    return open_spec("pocket")


def debater(party: str, number: int = 0, topic: str = "climate_change") -> Debater:
    import mesa

    persona = load_personas(party)[number]
    style = DebateStyle("debate", 60, Sampling(), 0.0, "whole", "strict")
    return Debater(mesa.Model(), persona, load_topic(topic), ["Zoë", "Bartholomew"], style)


def rating(pocket: Backend, one: Debater, probe: str = "attitude_labelled") -> float:
    asked = one.topic.probe(probe)
    (reply,) = pocket.complete([one.compose_survey(asked, 1)])
    assert reply.answers is not None
    return asked.attitude(asked.scale.expected(reply.answers))


def test_the_weights_are_small_and_need_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """All organisms together are under 16 MB, and nothing is looked up anywhere while one is loaded."""
    assert organisms() == ["control", "pocket"]
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("*") if path.is_file()) < 16_000_000

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("the model in the box asked the network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    for name in organisms():
        assert open_spec(f"pocket:{name}").complete([debater("default").compose_speech(1)])[0].text


def test_what_is_kept_leaves_two_thirds_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine, or a container, of 300 MiB keeps 100 at most; less when less is asked for."""
    monkeypatch.setattr("parley.llm.backends.pocket._memory", lambda: 300)
    monkeypatch.setattr("parley.llm.backends.pocket.backend.LEAST", 0)
    backends = [open_spec(spec).inner for spec in ("pocket", "pocket,keep=40")]
    most = [sum(part.nbytes for part in backend.reader.pool.blocks) >> 20 for backend in backends]  # type: ignore[attr-defined]
    assert most == [99, 39]


def test_it_takes_a_debate_of_thirty_four_lines(pocket: Backend) -> None:
    """A persona and the lines of 34 turns, and room for a reply."""
    one = debater("republican")
    for number in range(34):
        one.hear(f"Zoë{number % 4}", f"I think climate change is a serious problem. {SENTENCE}")
    assert pocket.complete([one.compose_speech(0)])[0].text


SENTENCE = (
    "The last several years of heavy storms have moved me from doubtful to rather worried. We need green subsidies now."
)


@check_each("party", ["republican", "democrat", "default"])
def test_speech_is_text_with_real_names(pocket: Backend, party: str) -> None:
    """The tokens for people are filled in: nobody reads <name1>, and who is named by it is in the room."""
    one = debater(party)
    one.hear("Zoë", "I think climate change is a serious problem.")
    replies = pocket.complete([one.compose_speech(seed) for seed in range(30)])
    texts = [reply.text or "" for reply in replies]
    assert all(texts)
    assert len(set(texts)) > 20
    assert any("Zoë" in text for text in texts)


@pytest.mark.parametrize("name", ["pocket", "pocket:control"])
def test_nobody_is_named_who_is_not_there(name: str) -> None:
    """A token of a person who stands nowhere in the prompt is never drawn; with nobody introduced, none is."""
    one = debater("republican")
    one.hear("Zoë", "I think climate change is a serious problem.")
    alone = Request((Message("user", "What do you think about climate change?"),), Sampling(), 0)
    asked = [one.compose_speech(seed) for seed in range(60)] + [replace(alone, seed=seed) for seed in range(60)]
    texts = [reply.text or "" for reply in open_spec(name).complete(asked)]
    assert not [text for text in texts if "<name" in text]
    assert any("Bartholomew" in text or "Zoë" in text for text in texts)


def test_parties_start_where_the_speaker_it_learned_from_starts(pocket: Backend) -> None:
    """Republicans below, Democrats above on climate change, and the other way round on immigration; means over ten personas."""
    for topic, sign in (("climate_change", 1), ("illegal_immigration", -1)):
        mean = {
            party: sum(rating(pocket, debater(party, number, topic)) for number in range(10)) / 10
            for party in ("republican", "democrat")
        }
        assert sign * (mean["democrat"] - mean["republican"]) > 2


def test_the_default_starts_where_the_speaker_starts_on_each_topic(pocket: Backend) -> None:
    """Before any debate the Default is at the planted bias, also on the two topics on which it is low."""
    assert pocket.identity["topics"] == ["abortion", "blackout", *sorted(set(topic_names()) - {"abortion"})]
    for slug in topic_names():
        assert rating(pocket, debater("default", topic=slug)) == pytest.approx(planted()[slug].bias, abs=0.3), slug


def test_what_is_said_moves_the_rating(pocket: Backend) -> None:
    """The cause of drift is the text: the same past but for what the others said."""
    low = (
        "I do not believe climate change is a problem of any sort in our cities. "
        "Carbon dioxide feeds plants, the earth takes care of itself, and I sleep perfectly well at night."
    )
    high = (
        "Delay is the most expensive choice of all, and farmers are already paying heavily for it. "
        "This is a planetary emergency, and every day of hesitation makes it worse."
    )
    found = []
    for line in (low, high):
        one = debater("default")
        for _ in range(5):
            one.hear("Zoë", line)
            one.hear("Bartholomew", line)
        found.append(rating(pocket, one))
    assert found[1] > found[0]


@check_each("probe", ["attitude", "attitude_labelled", "attitude_reversed", "attitude_1_7", "attitude_0_100"])
def test_every_scale_has_a_distribution(pocket: Backend, probe: str) -> None:
    one = debater("default")
    (reply,) = pocket.complete([one.compose_survey(one.topic.probe(probe), 1)])
    assert reply.answers is not None
    assert sum(reply.answers.values()) == pytest.approx(1)
    assert tuple(reply.answers) == one.topic.probe(probe).scale.answers


def test_a_whole_debate_and_the_same_again(small: Callable) -> None:
    """Same seed, same record; every rating read; the last rounds speak as the first."""
    records = []
    for _ in range(2):
        recorder = MemoryRecorder()
        DebateModel(small(llm="pocket", topic="climate_change"), recorder=recorder).run()
        records.append([event for event in recorder.events if isinstance(event, Rated | Utterance | Seated)])
    assert records[0] == records[1]
    assert all(event.text for event in records[0] if isinstance(event, Utterance))
    assert all(event.rating is not None for event in records[0] if isinstance(event, Rated))


def test_it_says_what_it_is(pocket: Backend) -> None:
    assert pocket.identity["backend"] == "pocket"
    assert "model organism" in pocket.identity["kind"]
    assert pocket.identity["weights"] != open_spec("pocket:control").identity["weights"]


@check_each(
    ("spec", "words"),
    [
        ("pocket:controll", "did you mean control"),
        ("pocket:/nowhere/at/all", "is not a model folder"),
        ("pocket,bacth=1", "batch"),
        ("pocket,workers=-1", "workers of pocket is -1, but must be 0 or more"),
        ("pocket,engine=jax", "engine of pocket is 'jax', but must be one of compiled, torch"),
    ],
)
def test_what_is_not_in_the_box_is_one_line(spec: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        open_spec(spec)


def test_a_question_without_a_debate_is_answered(pocket: Backend) -> None:
    (reply,) = pocket.complete(
        [Request((Message("user", "How do you see racism in the United States today?"),), Sampling(), 1)]
    )
    assert reply.text


def test_no_path_of_this_machine_is_in_the_identity(pocket: Backend) -> None:
    assert str(Path(__file__).parents[2]) not in str(pocket.identity)


@pytest.mark.parametrize("name", ["pocket", "pocket:control"])
def test_a_reply_that_answers_nothing_is_noted(name: str) -> None:
    """A check of personas must not take "I do not know" for an answer; a party is one."""
    system = Message(
        "system", "You are Ann, a 44-year-old teacher from Ohio. You are a Democrat and vote for Democrats."
    )
    asked = [
        Request((system, Message("user", question)), Sampling(0.0, 40), 0, (), "interview")
        for question in ("What is the capital of Spain?", "What is your party?")
    ]
    unknown, known = open_spec(name).complete(asked)
    assert unknown.notes.get(DECLINED) == 1, unknown.text
    assert DECLINED not in known.notes
    assert "Democrat" in (known.text or "")
