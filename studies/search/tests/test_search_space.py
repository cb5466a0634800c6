"""Spaces of interventions: read and refused, costs by hand, draws, and what samplers propose."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from parley.llm.errors import UserError
from parley.llm.seeding import stream
from parley.studies.search.methods import NSGA, TPE
from parley.studies.search.optimiser import RandomSearch, SamplerSearch, first_settings
from parley.studies.search.space import Cost, Objective, Setting, Space, load_space, space_of
from parley.studies.search.varied import Range

SPACE = """
scenario = "two_way"

[vary]
round = { low = 1, high = 3 }
share = { low = 0.5, high = 1.0 }

[interventions.report]
kind = "shock"
text = "Prices double."
cost = { once = 2, each = 0.5 }

[interventions.moderator]
kind = "moderator"
vary = { text = ["civility", "reasons"], every = [0, 1] }
"""


def read(text: str = SPACE) -> Space:
    return space_of(tomllib.loads(text), Path("mine.toml"))


def test_a_space_reads_as_it_is_written() -> None:
    """Ranges of whole numbers and of others, choices of one intervention, costs that default to 0."""
    space = read()
    assert space.options["report"].vary == {"round": Range(1, 3, True, 0), "share": Range(0.5, 1.0, False, 0)}
    assert space.options["moderator"].vary["text"] == ("civility", "reasons")
    assert space.options["moderator"].cost == Cost(0.0, 0.0)
    assert space.objective == Objective()
    assert space.size == float("inf")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('scenario = "two_way"', "", "lacks its scenario"),
        ('scenario = "two_way"', 'scenario = "two_way"\nsettings = 3', "must be a table"),
        ("[vary]", "[varied]", "did you mean vary"),
        ('kind = "shock"', 'kind = "shok"', "did you mean shock"),
        ('kind = "shock"', "", "needs the kind"),
        ("once = 2", "onse = 2", "did you mean once"),
        ("once = 2", "once = -2", "must be a number of 0 or more"),
        ("once = 2", "once = nan", "must be a finite number"),
        ('once = 2', 'once = "__import__(\'os\')"', "once of cost in mine.toml"),
        ("low = 1, high = 3", "low = 3, high = 1", "low must be less than high"),
        ("low = 1, high = 3", "low = 1, hihg = 3", "did you mean high"),
        ("low = 1, high = 3", "low = 0, high = 3", "round must be at least 1"),
        ("every = [0, 1]", "every = [0]", "write two or more values"),
        ("every = [0, 1]", "every = [0, 0]", "given twice"),
        ("every = [0, 1]", "evry = [0, 1]", "did you mean every"),
        ("every = [0, 1]", 'llm = ["oracle", "pocket"]', "cannot be varied"),
        ('text = "Prices double."', 'text = "Prices double."\nvary = { text = ["a", "b"] }', "leave out one of the two"),
        ('kind = "shock"', 'kind = "./mine.py:Rumour"', "no code"),
        ('kind = "shock"', 'kind = "shock"\nby = "openai:gpt,base_url=http://lab.example/v1"', "lab.example"),
    ],
)  # fmt: skip
def test_a_wrong_space_is_refused_in_one_line(old: str, new: str, said: str) -> None:
    """Each message names what is wrong, with the nearest right name; code and servers are refused."""
    with pytest.raises(UserError, match=said) as refused:
        read(SPACE.replace(old, new))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "objective", ['direction = "up"', "worth = -1", 'outcom = "attitudes"', 'worth = "much"', "worth = inf"]
)
def test_a_wrong_objective_is_refused(objective: str) -> None:
    with pytest.raises(UserError):
        read(f"{SPACE}\n[objective]\n{objective}")


@pytest.mark.parametrize("field", ["repetitions = 3", "seed = 1", 'llm = "oracle"'])
def test_what_the_search_sets_is_no_setting(field: str) -> None:
    with pytest.raises(UserError, match="cannot hold"):
        read(f"{SPACE}\n[settings]\n{field}")


def test_a_cost_is_that_computed_by_hand() -> None:
    """The report costs 2 once, and .5 for each time on all: at rounds 1, 2, 3 on half of the agents 2 + .5 x 3 x .5 = 2.75."""
    space = read(SPACE.replace('text = "Prices double."', 'text = "Prices double."\nevery = 1'))
    assert space.cost(Setting("report", (("round", 1), ("share", 0.5))), 3) == 2.75
    assert space.cost(Setting("report", (("round", 3), ("share", 1.0))), 3) == 2.5
    assert space.cost(Setting("moderator", (("round", 1), ("share", 1.0), ("text", "civility"), ("every", 1))), 3) == 0


def test_draws_are_even_over_interventions_and_inside_their_ranges() -> None:
    """Half of 2,000 draws have each intervention (within 4 SE), and all have a round from 1 to 3 and a share from .5 to 1."""
    space, rng = read(), stream(0, "test")
    drawn = [space.draw(rng) for _ in range(2000)]
    assert abs(Counter(setting.option for setting in drawn)["report"] - 1000) < 4 * 500**0.5
    values: list[dict[str, Any]] = [dict(setting.values) for setting in drawn]
    assert {each["round"] for each in values} == {1, 2, 3}
    assert all(0.5 <= each["share"] <= 1 for each in values)


@pytest.mark.parametrize("name", ["messages", "refutations"])
def test_the_shipped_spaces_can_be_read(name: str) -> None:
    assert load_space(name).size > 50


def best_of(space: Space, method: str, seed: int, trials: int) -> float:
    """Return the best true score that a method proposes: later rounds, larger shares and civility are better."""
    start = first_settings(space, seed, 5)
    search = RandomSearch(space, seed) if method == "random" else SamplerSearch(space, method, seed, start)
    scores = []
    for _ in range(trials):
        setting = search.propose()
        values = dict(setting.values)
        score = float(values["round"]) + 3 * float(values["share"]) + (values.get("text") == "civility")
        search.learn(setting, score, 1.0)
        scores.append(score)
    return max(scores)


@pytest.mark.thorough
def test_a_sampler_beats_random_search_at_the_same_budget() -> None:
    """On scores without noise, over 12 seeds and 30 trials, TPE comes nearer to the best (7) on average than random search."""
    pytest.importorskip("optuna")
    space = read()
    mean = {method: sum(best_of(space, method, seed, 30) for seed in range(12)) / 12 for method in (TPE, "random")}
    assert mean[TPE] > mean["random"]
    assert mean[TPE] > 6.5


@pytest.mark.parametrize("method", [TPE, NSGA])
def test_a_seed_gives_the_same_proposals(method: str) -> None:
    """What a repeated search asks for is what it asked for before; it begins with the random settings that it was given."""
    pytest.importorskip("optuna")
    space, start = read(), first_settings(read(), 3, 4)

    def proposed() -> list[Setting]:
        search, settings = SamplerSearch(space, method, 3, start), []
        for place in range(8):
            settings.append(search.propose())
            search.learn(settings[-1], None if place == 2 else float(place), 1.0)
        return settings

    assert proposed() == proposed()
    assert proposed()[:4] == start
