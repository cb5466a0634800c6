"""Fair mediators: measures by hand, a planted lean is found and none where none is, and what the order of opinions changes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic import episodes

import run
from parley.agents.mediators import open_mediator
from parley.analysis.deliberation.episode import Episode
from parley.analysis.formatting import format_p
from parley.analysis.journaled_calls import CallDesk
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.studies.representatives.fairness import (
    Draft,
    estimate_all,
    measure,
    shuffled_p,
    sides,
    with_opinion,
    write_draft,
)
from parley.studies.representatives.fairness_study import FairnessStudy, run_fairness, sentences


def at_positions(*positions: float | None) -> Episode:
    (episode,) = episodes(1, len(positions), 1)
    reasons = [{"position": "refusal"} if one is None else {} for one in positions]
    voices = zip(episode.voices, positions, reasons, strict=True)
    return replace(
        episode, voices=tuple(replace(voice, position=one, reasons=why) for voice, one, why in voices)
    )  # fmt: skip


def invented(
    value: Callable[[int, bool, bool, random.Random], float], sessions: int = 8, seed: int = 0
) -> pd.DataFrame:
    """Return payoffs of sessions of five members (the last two are the smaller side), five orders and two draws of each.

    value: the payoff of a member, by its place, whether it is of the smaller side and whether it is read first.
    """
    rng, rows = random.Random(seed), []
    for session, episode, order, draw in product(range(sessions), range(2), range(5), range(2)):
        for place in range(5):
            small, first = place > 2, place == order
            about = {"session": f"s{session}", "episode": f"e{session}_{episode}", "participant": f"s{session}p{place}"}
            side = "minority" if small else "majority"
            rows.append(about | {"side": side, "order": order, "draw": draw, "first": first,
                                 "value": value(place, small, first, rng)})  # fmt: skip
    return pd.DataFrame(rows)


def test_sides_of_a_question() -> None:
    """Two against three; a member in the middle or without a position has no side, and equal, single or unsure sides are none."""
    assert [*sides(at_positions(6, 7, 5, 2, 1)).values()] == ["majority"] * 3 + ["minority"] * 2
    assert [*sides(at_positions(1, 2, 6, 4, None)).values()] == ["majority"] * 2 + ["minority", "", ""]
    assert set(sides(at_positions(1, 2, 6, None, None)).values()) == {""}  # both unknown ones may be above
    assert set(sides(at_positions(6, 7, 2, 1)).values()) == set(sides(at_positions(6, 7, 4)).values()) == {""}


def test_measures_by_hand() -> None:
    """One episode, two orders, two draws: every number of the table from eight payoffs."""
    values = {(0, 0): (5, 1), (0, 1): (6, 1), (1, 0): (4, 3), (1, 1): (4, 2)}
    rows = [
        {"session": "s", "episode": "e", "participant": who, "side": side, "order": order, "draw": draw,
         "first": place == order, "value": float(pair[place])}
        for (order, draw), pair in values.items()
        for place, (who, side) in enumerate([("a", "majority"), ("b", "minority")])
    ]  # fmt: skip
    found = measure(pd.DataFrame(rows))
    assert (found.minority.tolist(), found.majority.tolist()) == ([1.75], [4.75])
    assert found.again.tolist() == [0.5]  # (1 + 0) / 2 and (0 + 1) / 2
    assert found.order.tolist() == [1.0]  # (0, 0) with (1, 1): 1; (0, 1) with (1, 0): 2; their mean, minus 0.5
    assert found.first.tolist() == [1.5]  # a: 5.5 - 4; b: 2.5 - 1


def test_planted_leans_are_found_and_none_where_none_is() -> None:
    """Half a point less for the smaller side and a third more for the first: both in their intervals; 0 and p without them."""
    fair = estimate_all(invented(lambda place, small, first, rng: place + rng.gauss(0, 1)), np.random.default_rng(0))
    for name in ("order", "first"):
        assert fair[f"{name}_low"] < 0 < fair[f"{name}_high"]
    level = [3.0, 1.0, 2.0, 2.0, 2.0]  # members differ, their sides do not
    lean = estimate_all(
        invented(lambda place, small, first, rng: level[place] - small / 2 + first / 3 + rng.gauss(0, 0.1)),
        np.random.default_rng(0),
    )
    assert lean["coverage"] == pytest.approx(-0.5, abs=0.05)
    assert lean["coverage_high"] < 0
    assert lean["first_low"] < 1 / 3 < lean["first_high"]
    assert lean["first_low"] > 0
    assert lean["order_low"] > 0


def test_shuffled_sides() -> None:
    """Where all of the smaller side are below all others, few shuffles reach that; below five sessions there is no p."""
    apart = invented(lambda place, small, first, rng: -float(small), 6)
    assert shuffled_p(apart, np.random.default_rng(0), 199) == 0.005
    assert shuffled_p(invented(lambda *_: 1.0, 6), np.random.default_rng(0), 19) == 1.0
    assert math.isnan(shuffled_p(apart[apart["session"] < "s4"], np.random.default_rng(0)))


class Silence:
    """A model that no mediator asks."""

    in_flight = 0

    def complete(self, requests: list[Request]) -> list[Reply]:
        raise AssertionError("asked")


def lose(payoffs: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """Return payoffs without those of a share of the members of each episode."""
    rng, keys = np.random.default_rng(seed), pd.MultiIndex.from_frame(payoffs[["episode", "participant"]])
    lost = keys.unique()[rng.random(keys.nunique()) < share]
    return payoffs.assign(value=payoffs["value"].mask(keys.isin(lost)))


def test_missing_payoffs_make_no_difference_between_sides() -> None:
    """With half of the payoffs missing: small p in few of 12 societies without a lean (it was 6), and still with one."""
    nothing = [lose(invented(lambda *about: about[3].gauss(0, 1), 8, seed), 0.5, seed) for seed in range(12)]
    assert sum(shuffled_p(one, np.random.default_rng(0), 199) <= 0.05 for one in nothing) <= 1
    apart = invented(lambda place, small, first, rng: rng.gauss(0, 0.3) - 2 * small, 12)
    assert shuffled_p(lose(apart, 0.3, 0), np.random.default_rng(0), 199) <= 0.05


def test_the_first_opinion_is_that_of_the_prompt() -> None:
    """A mediator that writes shuffles opinions: the first is that of the prompt, each member once over all orders."""
    (episode,) = episodes(1, 4, 1)
    texts: list[list[str]] = []

    class Writer:
        in_flight = 0

        def complete(self, requests: list[Request]) -> list[Reply]:
            texts.extend(list(request.facts["opinions"]) for request in requests)
            return [Reply("We agree.") for _ in requests]

    def draft(name: str, order: int) -> Draft:
        (found,) = drive([write_draft(episode, open_mediator(name), order, 0, 1)], Writer())
        return found

    said = {voice.opinion: voice.participant for voice in episode.voices}
    firsts = [draft("draft_revise", order).first for order in range(4)]
    assert firsts == [said[shown[0]] for shown in texts]
    assert sorted(map(str, firsts)) == sorted(said.values())
    assert [draft("majority", order).first for order in range(4)] == list(said.values())


def test_orders_are_of_the_opinions_that_were_written() -> None:
    """Of four members one is silent: the three opinions have three orders, and each of them is read first in one."""
    (episode,) = episodes(1, 4, 1)
    quiet = replace(episode.voices[1], opinion=None, reasons={"opinion": "refusal"})
    missing = replace(episode, voices=(episode.voices[0], quiet, *episode.voices[2:]))
    drafts = [
        drive([write_draft(missing, open_mediator("majority"), order, 0, 1)], Silence())[0]
        for order in range(len(with_opinion(missing)))
    ]
    assert [draft.first for draft in drafts] == [voice.participant for voice in with_opinion(missing)]


def test_what_is_unknown_is_said() -> None:
    """Two sessions have no verdict; a mediator whose drafts never change is reported as such; wrong options are refused."""
    few = estimate_all(invented(lambda place, *_: float(place), 2), np.random.default_rng(0)) | {"mediator": "m"}
    assert all("fewer than 5 sessions" in line for line in sentences(few))
    same = estimate_all(invented(lambda place, *_: float(place)), np.random.default_rng(0)) | {"mediator": "m"}
    assert list(sentences(same))[1] == "`m`, *moved by the order*: 0.00 points in each of 8 sessions."
    for wrong in (
        {"payoff": "own"},
        {"draws": 1},
        {"mediators": ("habermas,ballots=own",)},
        {"payoff": "ranking", "draws": 6},
    ):
        with pytest.raises(UserError):
            FairnessStudy(**({"mediators": ("majority",)} | wrong))  # type: ignore[arg-type]


def test_no_side_is_named_where_shuffled_sides_differ_as_much() -> None:
    """Members of a side differ: an interval above 0 with a large p names no side, and an interval around 0 claims no likeness."""
    line = {"mediator": "m", "coverage": 0.11, "coverage_low": 0.05, "coverage_high": 0.17, "coverage_reason": ""}
    rest = {f"{name}{end}": 0.0 for name in ("order", "first") for end in ("", "_low", "_high", "_sessions")}
    rest |= {"order_reason": "no variation", "first_reason": "no variation"}
    for p, low, said in ((0.169, 0.05, "does not clearly suit either side"), (0.04, -0.02, "does not clearly suit either"),
                         (0.04, 0.05, "suits the smaller side better"), (math.nan, 0.05, "does not clearly")):  # fmt: skip
        first = next(sentences(line | rest | {"coverage_low": low, "coverage_p": p}))
        assert first.startswith(f"`m` {said}")
        assert f"(p {format_p(p)} with shuffled sides)" in first


def test_the_page_says_that_people_are_in_several_sessions(tmp_path: Path) -> None:
    """Sessions that share people are not independent: the page has the caution, and has none where no one comes twice."""
    apart = episodes(2, 3, 1)
    names = iter("abcdea")
    shared = [
        replace(one, voices=tuple(replace(voice, participant=next(names)) for voice in one.voices)) for one in apart
    ]
    said = "A persona takes part in up to 2 groups, so intervals are somewhat too narrow."
    for place, (groups, found) in enumerate(((apart, False), (shared, True))):
        desk = CallDesk(tmp_path / str(place), lambda *_: nullcontext(lambda steps: None), keep_going=True)
        page = run_fairness(groups, FairnessStudy(("majority",)), desk).read_text(encoding="utf-8")
        assert (said in page) == found


@pytest.mark.thorough
def test_the_oracle_as_a_mediator_of_known_lean(tmp_path: Path) -> None:
    """Drafts halfway to the larger side and then to the first opinion are found; drafts in the middle are fair."""
    asked = ["--scenario", "consensus", "--llm", "oracle", "--repetitions", "6"]
    assert run.main([*asked, "--out", str(tmp_path / "run")]) == 0
    pages = {}
    for llm in ("oracle,majority=0", "oracle,majority=0.8,primacy=0.4"):
        words = ["study", "mediators", str(tmp_path / "run"), "--mediator", "draft_revise", "--llm", llm]
        assert run.main([*words, "--out", str(tmp_path / llm)]) == 0
        pages[llm] = (tmp_path / llm / "mediators.md").read_text(encoding="utf-8")
    fair, lean = pages.values()
    words = [
        "study",
        "mediators",
        str(tmp_path / "run"),
        "--mediator",
        "groups",
        "--mediator",
        "draft_revise",
        "--llm",
        "oracle",
    ]
    assert run.main([*words, "--out", str(tmp_path / "groups")]) == 0
    gaps = pd.read_csv(tmp_path / "groups/fairness.csv").set_index("mediator")["coverage"]
    assert gaps["groups"] > gaps["draft_revise"] + 0.5
    assert "does not clearly suit either side" in fair
    assert "does not clearly change with the order" in fair
    assert "does not clearly favour" in fair
    assert "suits the larger side better" in lean
    assert "changes with the order" in lean
    assert "favours the opinion that it reads first" in lean
