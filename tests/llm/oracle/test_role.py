"""Roles and kinds of argument on the known-truth speaker: what is said in each is what is planted."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest
from data_checks import check_each

from parley.agents.traits import Traits
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.speech import ARGUMENTS, ROLES, role_grade, role_of
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request
from parley.studies.news.law import DIMENSIONS
from parley.studies.news.versions import RUBRIC


@check_each("name", [*ROLES, *[f"convincer+{one}" for one in ARGUMENTS]])
def test_the_roles_of_the_speaker_are_those_of_the_package(name: str) -> None:
    """Floor 0 cannot read agents/roles.toml: who renames a role there hears of this one here."""
    assert role_of(name) == name.rpartition("+")[2]
    assert Traits(role=name).ask


def test_other_roles_speak_as_anybody() -> None:
    """An argument without a convincer, a convincer without an argument: the speaker says what it thinks."""
    assert [role_of(name) for name in ("convincer", "skeptic", "skeptic+knowledge")] == ["", "", ""]
    assert role_of("spreader+trust") == "spreader"


@check_each("name", ["spreader", "commentator", "verifier", "bystander", "convincer+knowledge", "convincer+status"])
def test_what_is_said_has_the_planted_mean_grade(
    turn: Callable[..., Request], line: Callable[..., str], name: str
) -> None:
    """Over many seeds, after two lines heard, the last of grade 8; the speaker stands at the bias 3, which nothing moves here."""
    oracle = open_backend("", kappa=0.0, mu=0.0, sigma=0.0)
    heard = [("Bob", line("blackout", 0)), ("Cleo", line("blackout", 8))]
    replies = oracle.complete([turn(heard, "blackout", seed=seed, role=name) for seed in range(400)])
    grades = [banks().topics["blackout"].grade(reply.text or "") for reply in replies]
    planted = {
        "spreader": 8,
        "commentator": 5.5,
        "verifier": 3,
        "bystander": 3,
        "convincer+knowledge": 0.6,
        "convincer+status": 2.4,
    }
    assert statistics.fmean(grade for grade in grades if grade is not None) == pytest.approx(planted[name], abs=0.25)
    assert None not in grades


def test_with_nothing_heard_a_spreader_says_what_it_thinks() -> None:
    """By hand: at 2 it says 2; a convincer by trust at 6 says 6 + 0.6 * 4, at 2 it says 2 - 0.6 * 2."""
    assert role_grade("spreader", 2.0, None, 5.0) == 2.0
    assert (role_grade("trust", 6.0, 1.0, 5.0), role_grade("trust", 2.0, 9.0, 5.0)) == (
        pytest.approx(8.4),
        pytest.approx(0.8),
    )


def test_a_bystander_says_one_sentence(turn: Callable[..., Request]) -> None:
    for reply in open_backend("").complete([turn((), "blackout", seed=seed, role="bystander") for seed in range(30)]):
        assert (reply.text or "").count(".") + (reply.text or "").count("?") == 1


def deviation(asked: Callable[..., Reply], later: str, dimension: str) -> Reply:
    report = banks().items["bridge"].report
    facts: Facts = {
        "source": report,
        "statement": later,
        "dimension": dimension,
        "scale": RUBRIC.scale,
    }
    return asked(f"{report} {later}", purpose="deviation", facts=facts)


def test_deviation_is_the_distance_of_degrees(asked: Callable[..., Reply]) -> None:
    """A sentence of degree 7 is 7 away in its dimension and nowhere else; what is not in the banks has no distance."""
    version = f"{banks().items['bridge'].report} {banks().added['certainty', 7]}"
    assert deviation(asked, version, "certainty").text == "7"
    assert deviation(asked, version, "style").text == "0"
    lost = deviation(asked, "A line that nobody can read.", "style")
    assert (lost.text, lost.failure.name if lost.failure else None) == (None, "no_known_sentence")


def test_a_sentence_of_a_story_has_one_dimension_and_degree() -> None:
    """In every language sixty sentences, all different, none of them a sentence of a report."""
    for society in ("us", "germany"):
        added = banks(society).added
        assert len(added) == len(set(added.values())) == 60
        assert {name for name, _ in added} == set(DIMENSIONS)
        assert all(sentence not in item.report for item in banks(society).items.values() for sentence in added.values())


def test_people_differ_more_on_news_than_on_a_topic(oracle: Oracle) -> None:
    """Nobody's party says what it believes: half of the spread on a topic is the party's, here all of it is the person's."""
    from parley.agents.persona import load_personas
    from parley.llm.backends.oracle.dynamics import start

    found = {
        party: [
            start(oracle.banks, one.backstory, "blackout", oracle.parameters["blackout"])
            for one in load_personas(party)
        ]
        for party in ("republican", "democrat")
    }
    assert statistics.fmean(found["republican"]) == pytest.approx(statistics.fmean(found["democrat"]), abs=1.2)
    assert all(1.5 < statistics.stdev(values) < 3.5 for values in found.values())
    assert all(0.15 < statistics.fmean(value > 5 for value in values) < 0.55 for values in found.values())
