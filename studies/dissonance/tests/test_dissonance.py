"""Relative dissonance: the law by hand, and the slope of choices: planted slopes are found, and none where none is planted."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from law_runs import after, complete, generator
from scipy.sparse import csr_array

import run
from parley.agents.laws import Floats, open_law
from parley.agents.laws.dissonance import Dissonance, choice_probability
from parley.environments.sparse_graphs import small_world
from parley.llm.backends.fake import Fake
from parley.studies.dissonance.choices import Swapped, by_ratio, embed, exposures, fit, pairs, swapped_slopes
from parley.studies.dissonance.report import sentence

BELIEFS = [f"b{number:02}" for number in range(40)]


def space(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(rng.normal(size=(len(BELIEFS), 6)), index=BELIEFS)


def chosen(
    rng: np.random.Generator, vectors: pd.DataFrame, slope: float, people: int = 30, each: int = 12
) -> pd.DataFrame:
    """Choices by the law: of two random beliefs, by their distances to the mean of the beliefs that the person took before."""
    matrix, rows = vectors.to_numpy(), []
    for person in range(people):
        own: list[Floats] = []
        for _ in range(each):
            first, second = rng.choice(len(matrix), 2, replace=False)
            if own:
                at = np.mean(own, axis=0)
                gaps = [np.array([np.linalg.norm(matrix[one] - at)]) for one in (first, second)]
                takes = rng.random() < choice_probability(*gaps, slope)[0]
            else:
                takes = rng.random() < 0.5
            took, left = (first, second) if takes else (second, first)
            own.append(matrix[took])
            rows.append((f"p{person:02}", BELIEFS[took], BELIEFS[left]))
    return pd.DataFrame(rows, columns=["person", "chosen", "rejected"])


def test_the_law_by_hand() -> None:
    """At twice the distance and slope 2, a belief is taken once in five; two beliefs on one's own position are taken alike."""
    assert choice_probability(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0]), 2).tolist() == pytest.approx(
        [0.2, 0.5, 1.0]
    )
    assert choice_probability(np.array([2.0, 0.0]), np.array([1.0, 1.0]), 0).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("slope", "share"), [(0.0, 0.5), (2.0, 1 / (1 + (2 / 3) ** 2)), (1e6, 1.0)])
def test_who_hears_two_takes_the_nearer_as_often_as_the_law_says(slope: float, share: float) -> None:
    """4,000 agents at 4 hear one at 2 and one at 7, drawn with replacement: the nearer is taken in a quarter of the
    meetings (drawn twice) and in `share` of the half with both."""
    size = 4000
    rows, columns = np.repeat(np.arange(size), 2), np.tile([size, size + 1], size)
    graph = csr_array((np.ones(2 * size), (rows, columns)), (size + 2, size + 2))
    start = np.append(np.full(size, 4.0), [2.0, 7.0])
    end = after(Dissonance(slope=slope, mu=1e-6), start, graph, 1, 1)[:size]
    steps = (end - 4) / 1e-6
    once = steps[np.isin(np.round(steps, 3), [-2.0, 3.0])]
    assert len(once) > 1000
    assert (once < 0).mean() == pytest.approx(0.25 + 0.5 * share, abs=0.04)


def test_several_dimensions_use_the_euclidean_distance() -> None:
    """A person at (5, 5) that hears (5, 8) at 3 and (9, 9) at 5.7 goes to the first, though both are other opinions."""
    graph, start = complete(3), np.array([[5.0, 5.0], [5.0, 8.0], [9.0, 9.0]])
    law = open_law("dissonance,slope=1e6,mu=1")
    ends = {tuple(after(law, start, graph, 1, seed)[0]) for seed in range(60)}
    assert (5.0, 8.0) in ends
    assert all(np.isfinite(end).all() for end in ends)


def test_one_opinion_is_at_rest_and_groups_stay_apart() -> None:
    """Consensus stays. With a steep slope two camps keep more of their spread than with slope 0, where all copy at random."""
    graph = small_world(400, 10, 0.1, generator(1))
    assert (after(Dissonance(), np.full(400, 3.0), graph, 3) == 3.0).all()
    camps = np.where(generator(2).random(400) < 0.5, 2.0, 8.0) + generator(3).normal(size=400) * 0.5
    steep, flat = (after(Dissonance(slope=slope), camps, graph, 40, 4).std() for slope in (20.0, 0.0))
    assert steep > 2 * flat


def test_distances_by_hand() -> None:
    """Ann takes a (0) and b (2): the position is 0 before the second and 1 before the third choice."""
    vectors = pd.DataFrame({"x": [0.0, 2.0, 5.0]}, index=["a", "b", "c"])
    rows = [("ann", "a", "c"), ("ann", "b", "c"), ("ann", "c", "a"), ("bob", "b", "nowhere"), ("bob", "nowhere", "a")]
    found = pairs(pd.DataFrame(rows, columns=["person", "chosen", "rejected"]), vectors)
    assert found["near"].tolist() == pytest.approx([np.nan, 2, 4, np.nan, np.nan], nan_ok=True)
    assert found["far"].tolist() == pytest.approx([np.nan, 5, 1, np.nan, np.nan], nan_ok=True)


@pytest.mark.parametrize("slope", [0.0, 4.0])
def test_a_planted_slope_is_found_and_none_without(slope: float) -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(15):
        vectors = space(rng)
        found.append(fit(pairs(chosen(rng, vectors, slope), vectors)))
    assert np.mean([row["slope"] for row in found]) == pytest.approx(slope, abs=0.35)
    assert sum(row["low"] <= slope <= row["high"] for row in found) >= 12
    assert sum(row["low"] > 0 for row in found) == (15 if slope else pytest.approx(0, abs=2))


def test_a_planted_slope_is_steeper_than_with_the_beliefs_of_others() -> None:
    rng = np.random.default_rng(2)
    vectors = space(rng)
    swapped = swapped_slopes(chosen(rng, vectors, 4.0), vectors, 60)
    assert swapped.own > swapped.others.max()


@pytest.mark.thorough
def test_what_everyone_prefers_is_no_preference_for_ones_own() -> None:
    """All prefer one of two camps of beliefs, so all are near to what they take next; no one follows their own beliefs."""
    rng, claims = np.random.default_rng(5), []
    for _ in range(5):
        vectors = space(rng)
        camp = np.where(np.arange(len(BELIEFS)) < len(BELIEFS) // 2, 1.0, -1.0)
        vectors[0] += 2 * camp
        two = np.array([rng.choice(len(BELIEFS), 2, replace=False) for _ in range(20 * 10)])
        takes = rng.random(len(two)) < 1 / (1 + np.exp(1.5 * (camp[two[:, 1]] - camp[two[:, 0]])))
        names = np.array(BELIEFS)[np.where(takes[:, None], two, two[:, ::-1])]
        choices = pd.DataFrame(names, columns=["chosen", "rejected"]).assign(person=np.repeat(np.arange(20), 10))
        found = fit(pairs(choices, vectors))
        assert found["slope"] > 0
        claims.append("People prefer" in sentence(found, swapped_slopes(choices, vectors, 100)))
    assert not any(claims)


def test_earlier_beliefs_are_dealt_from_people_with_as_many_choices() -> None:
    """Ann (two choices) has those of Ann or Bob (three) before her second; Bob his own. A choice's beliefs are left out."""
    rows = [("ann", "a", "c"), ("ann", "b", "c"), ("bob", "c", "a"), ("bob", "c", "b"), ("bob", "a", "c")]
    exposed = exposures(pd.DataFrame(rows, columns=["person", "chosen", "rejected"]), pd.Index(["a", "b", "c"]))
    dealt = [exposed.swapped(np.random.default_rng(seed)).earlier.toarray().tolist() for seed in range(20)]
    assert {tuple(one[1]) for one in dealt} == {(1, 0, 0), (0, 0, 1)}
    assert all(one[2:] == [[0, 0, 0], [0, 0, 1], [0, 0, 1]] for one in dealt)
    assert exposed.apart().earlier.toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_a_slope_that_people_also_have_with_the_beliefs_of_others_is_no_preference() -> None:
    """Interval above 0 and a rare slope: a preference. A common slope: popularity can explain it. No interval: unknown."""
    found = {"slope": 1.0, "low": 0.5, "high": 1.5, "nearer": 0.6, "reason": ""}
    rare, common = (Swapped(1.0, np.linspace(*ends, 199)) for ends in ((-0.5, 0.5), (0.5, 1.5)))
    assert "People prefer the belief that is nearer" in sentence(found, rare)
    assert "popular beliefs can explain the slope" in sentence(found, common)
    assert "do not clearly depend" in sentence(found | {"low": -0.1}, rare)
    assert "because few" in sentence(found | {"low": np.nan, "reason": "few"}, rare)


def test_few_people_and_one_sided_choices_have_no_interval() -> None:
    """Below five people there is a slope and no interval; if all take the nearer belief no finite slope fits."""
    rng = np.random.default_rng(3)
    vectors = space(rng)
    few = fit(pairs(chosen(rng, vectors, 2.0, 3), vectors))
    assert np.isfinite(few["slope"])
    assert np.isnan(few["low"])
    assert few["reason"] == "fewer than 5 people"
    assert np.isfinite(fit(pairs(chosen(rng, vectors, 2.0, 1, 40), vectors))["slope"]), "one person alone"
    ties = pd.DataFrame({"person": list("abcdef") * 2, "near": [1.0] * 11 + [1 + 1e-15], "far": [2.0] * 11 + [1.0]})
    assert "no finite slope" in fit(ties)["reason"], "a tie, but for rounding, is on neither side"
    assert "no finite slope" in fit(pairs(chosen(rng, vectors, 1e6), vectors))["reason"]
    assert by_ratio(pairs(chosen(rng, vectors, 2.0, 1, 1), vectors)).empty


def test_the_command_reads_vectors_or_embeds_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    vectors = space(rng)
    chosen(rng, vectors, 6.0, 15, 8).to_csv(tmp_path / "choices.csv", index=False)
    vectors.rename_axis("belief").to_csv(tmp_path / "beliefs.csv")
    command = ["study", "dissonance", str(tmp_path / "choices.csv"), "--beliefs"]
    assert run.main([*command, str(tmp_path / "beliefs.csv")]) == 0
    assert "People prefer the belief that is nearer" in (tmp_path / "choices" / "dissonance.md").read_text()
    said = ["Racism is a very big problem in this country.", "Weather is nice."]
    texts = pd.DataFrame({"belief": BELIEFS, "text": said * 20})
    texts.to_csv(tmp_path / "texts.csv", index=False)
    assert run.main([*command, str(tmp_path / "texts.csv")]) == 2
    assert run.main([*command, str(tmp_path / "choices.csv")]) == 2
    assert run.main([*command, str(tmp_path / "texts.csv"), "--llm", "fake", "--keep-going"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3, "one line each"
    assert "has no vectors" in errors[0]
    assert "lacks the column belief" in errors[1]
    assert "fake gave no embedding of any belief" in errors[2]


def test_texts_are_embedded_by_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each text is sent once, in a folder that is made; its vector is read, and a text without an embedding has none."""
    speak = {"one": "[1, 0]", "two": "[0.5, 2]", "three": "I cannot."}
    monkeypatch.setattr(
        "parley.analysis.journaled_calls.open_spec",
        lambda spec: Fake(lambda request: speak[request.messages[-1].content]),
    )
    texts = pd.Series({"a": "one", "b": "two", "c": "three"})
    found = embed(
        texts, "fake", tmp_path / "new", lambda title, total, unit="call": contextlib.nullcontext(lambda count: None)
    )
    assert found.to_numpy().tolist() == [[1, 0], [0.5, 2]]
    assert found.index.tolist() == ["a", "b"]
