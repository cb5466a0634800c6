"""With and without: two branches of one past, and what is said of them."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.surrogate_agent import SURROGATE
from parley.analysis import disclaimers
from parley.analysis.commands.runs import hold_all
from parley.analysis.run_report import write_report
from parley.analysis.studies.intervention import (
    BRANCHES,
    PLACEBO,
    WITH,
    WITHOUT,
    InterventionResult,
    check_past,
    compare_branches,
    effects,
    estimate_rows,
    headline,
    intervention,
    intervention_figure,
    placebo_scenario,
    points,
)
from parley.analysis.tables import Tables, load
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.prices import Account
from parley.llm.request import Usage
from parley.llm.router import open_all
from parley.model.arguments import scenario_from_args
from parley.model.events import Called, Intervened, Utterance
from parley.model.interventions.base import Saying
from parley.model.scenario import Scenario, load_preset

NASTY = "**Avery:** I give up <script>alert(1)</script> [x](http://evil.example) `code` | a | b"
SHOCK = "shock round=2 to=republican text='I think {topic} is a severe problem.'"


@pytest.fixture
def branches(held: Callable[..., Tables]) -> Callable[..., tuple[Tables, Tables]]:
    """Two rooms of a Republican and a Democrat without and with; in the first room the Republican is told before round 2."""

    def make(*ratings: list[list[float | None]], told: bool = True, every: bool = False) -> tuple[Tables, Tables]:
        sides = [held(*[{"republican": one[0], "democrat": one[1]} for one in rooms]) for rooms in ratings]
        seats = sides[1].agents[sides[1].agents["party"] == "republican"].iloc[: None if every else 1]
        events = [
            Intervened(one.room, 2, "shock", (int(one.agent),), "It rains.", "News") for one in seats.itertuples()
        ]
        rooms = [{"republican": one[0], "democrat": one[1]} for one in ratings[1]]
        table = held(*rooms, more=events if told else [])
        line = {"kind": "shock", "round": 2, "text": "It rains."}
        header = replace(table.header, scenario=table.header.scenario | {"interventions": [line]})
        return sides[0], replace(table, header=header)

    return make


def row(frame: pd.DataFrame, **keys: object) -> pd.Series:
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_an_effect_is_the_difference_within_rooms(branches: Callable) -> None:
    """By hand: told, 4 becomes 7 where it was 5 (2 up); who sat with it is 1 down; the room where nobody was told is left out."""
    without = [[[3, 4, 5], [8, 8, 8]], [[2, 2, 2], [9, 9, 9]]]
    with_ = [[[3, 4, 7], [8, 8, 7]], [[2, 2, 6], [9, 9, 9]]]
    found = compare_branches(*branches(without, with_))
    assert (found.first, found.untouched) == (2, 1)
    told = row(found.effects, party="republican", told=True, measure="attitude", round=2)
    assert (told[WITHOUT], told[WITH], told["effect"], told["rooms"], told["missing"]) == (5, 7, 2, 1, 0)
    beside = row(found.effects, party="democrat", told=False, measure="attitude", round=2)
    assert (beside["effect"], beside["rooms"]) == (-1, 1)
    assert pd.isna(beside["effect_low"])


def test_the_reference_is_no_room_in_which_nobody_was_meant(held: Callable[..., Tables]) -> None:
    """The Defaults asked outside debate nothing: everybody who debated was told, and the report says that some were left out."""
    room = {"republican": [3, 4, 5], "democrat": [8, 8, 8]}
    without = held(room, reference=[5, 5])
    seat = without.agents[without.agents["party"] == "republican"].iloc[0]
    told = held(
        room, reference=[5, 5], more=[Intervened(seat["room"], 2, "shock", (int(seat["agent"]),), "It rains.", "News")]
    )
    scenario = told.header.scenario | {"interventions": [{"kind": "shock", "round": 2, "text": "It rains."}]}
    found = compare_branches(without, replace(told, header=replace(told.header, scenario=scenario)))
    assert found.untouched == 0


@check_each(("rooms", "claims"), [(2, 0), (4, 0), (5, 1)])
def test_no_effect_is_claimed_below_five_rooms(branches: Callable, rooms: int, claims: int) -> None:
    """`0.06 (0.06 to 0.06)` at two rooms: 7 of 24 lines of a control had an effect. n, SD and the reason are in the table."""
    without = [[[2, 2, 2], [5, 5, 5]]] * rooms
    held = [[[2, 2, 3 + room / 10], [5, 5, 5]] for room in range(rooms)]
    found = compare_branches(*branches(without, held, every=True))
    last = found.effects[(found.effects["round"] == 2) & (found.effects["party"] == "republican")].iloc[0]
    assert (last["rooms"], last["sd"]) == (rooms, pytest.approx(np.std([room / 10 for room in range(rooms)], ddof=1)))
    assert np.isfinite(last["effect_low"]) == bool(claims)
    assert last["reason"] == ("" if claims else "fewer than 5 rooms")
    told = headline(found)
    assert told.count("without them: ") == claims
    assert f"For {2 - claims} of 2 groups of agents" in told
    assert ("are from fewer than 5 rooms" in told) == (not claims)


def test_estimates_are_of_opinions() -> None:
    """The answers, which are whole points, are rows beside them."""
    keys = {
        "topic": "racism",
        "group": "three",
        "party": "republican",
        "told": True,
        "round": 2,
        "rooms": 6,
        "missing": 0,
    }
    table = pd.DataFrame([keys | {"measure": "attitude", "effect": 1.2}, keys | {"measure": "answer", "effect": 1.0}])
    assert estimate_rows(table)["effect"].to_list() == [1.2]


def test_half_a_pair_is_none(branches: Callable) -> None:
    """A rating that could not be read is counted, and is no zero."""
    found = compare_branches(*branches([[[3, 4, None], [8, 8, 8]]], [[[3, 4, 7], [8, 8, 7]]]))
    told = row(found.effects, party="republican", measure="attitude")
    assert (told["rooms"], told["missing"]) == (0, 1)
    assert pd.isna(told["effect"])


def test_who_has_no_distribution_is_not_unread() -> None:
    """A stand-in fitted to ratings gives no expected rating: beside people who do, it was counted as one not read."""
    pairs = pd.DataFrame(
        {
            "how": ["strict, logprobs", "strict, logprobs", SURROGATE],
            "answer without": [5.0, 5.0, 6.0],
            "answer with": [7.0, 6.0, 9.0],
            "attitude without": [5.5, 5.0, None],
            "attitude with": [7.0, None, None],
        }
    ).assign(topic="racism", group="three", party="republican", told=True, round=2, room="a")
    found = effects(pairs).set_index("measure")
    assert found["effect"].to_dict() == {"attitude": 1.5, "answer": 2.0}
    assert found["missing"].to_dict() == {"attitude": 1, "answer": 0}


def test_branches_of_another_past_are_no_pair(branches: Callable) -> None:
    """A difference before the intervention would be taken for its effect."""
    with pytest.raises(UserError, match="attitudes before round 2 differ"):
        compare_branches(*branches([[[3, 4, 5], [8, 8, 8]]], [[[3, 5, 5], [8, 8, 8]]]))


def test_an_intervention_that_meets_nobody_is_no_study(branches: Callable) -> None:
    same = [[[3, 4, 5], [8, 8, 8]]]
    with pytest.raises(UserError, match="no intervention reached an agent"):
        compare_branches(*branches(same, same, told=False))


def test_points_are_means_over_rooms() -> None:
    """Of 4 and 6 without, of 5 and 9 with."""
    pairs = pd.DataFrame({"room": ["a", "b"], "attitude without": [4.0, 6.0], "attitude with": [5.0, 9.0]}).assign(
        topic="racism", group="republican", party="republican", round=1, iteration=2
    )
    assert dict(points(pairs)[["branch", "attitude"]].itertuples(index=False)) == {WITHOUT: 5.0, WITH: 7.0}


def test_rooms_that_spoke_more_or_less_are_one_point_a_round() -> None:
    """Where chance decides who speaks, 4 and 7 replies after a round are no two moments: a line through both goes up and down."""
    pairs = pd.DataFrame(
        {
            "room": ["a", "b"],
            "iteration": [4, 7],
            "attitude without": [4.0, 6.0],
            "attitude with": [5.0, 9.0],
        }
    ).assign(topic="racism", group="republican", party="republican", round=1)
    found = points(pairs)
    assert list(found[["branch", "iteration", "attitude"]].itertuples(index=False, name=None)) == [
        (WITHOUT, 6, 5.0),
        (WITH, 6, 7.0),
    ]


ROOMS = ("--topic", "racism", "--repetitions", "3", "--rounds", "3")
COMMAND = ("study", "intervene", "--scenario", "three_way", *ROOMS, "--llm", "oracle")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small study, held from the command line, its output beside it."""
    folder = tmp_path_factory.mktemp("study") / "out"
    assert run.main([*COMMAND, "--intervene", SHOCK, "--out", str(folder)]) == 0
    return folder


@pytest.mark.thorough
def test_the_past_is_one_and_nothing_is_asked_twice(study: Path) -> None:
    """Rounds 0 and 1 of the second branch come from the replies of the first, to the byte; it asks only what is new."""
    without, held = load(study / WITHOUT), load(study / WITH)
    check_past(without, held, 2)
    known = set(without.calls["key"])
    past = held.calls[held.calls["round"] < 2]
    assert set(past["key"]) <= known
    later = [frame.loc[frame["round"] >= 2, "text"].tolist() for frame in (without.utterances, held.utterances)]
    assert later[0] != later[1]
    with pytest.raises(UserError, match="utterances before round 3 differ"):
        check_past(without, held, 3)


@pytest.mark.thorough
def test_the_report_says_what_was_done_and_what_it_changed(study: Path) -> None:
    """What, to whom, in which words; both branches with summary and transcript; the figure has a line for it."""
    text = (study / "intervention.md").read_text(encoding="utf-8")
    assert "| 2 | shock | News | 3 agents in 3 rooms | I think racism is a severe problem. |" in text
    assert "| Racism | Republican | yes | attitude |" in text
    assert "| Racism | Democrat | no | attitude |" in text
    assert "known-truth speaker" in text
    assert len(pd.read_csv(study / "effects.csv")) == 2 * 3 * 2  # measures, parties, rounds
    assert "Intervention: News, to" in (study / WITH / "transcript.md").read_text(encoding="utf-8")
    summary = (study / WITH / "summary.md").read_text(encoding="utf-8")
    assert "## Interventions" in summary
    assert (study / WITH / "tables" / "interventions.parquet").exists()
    assert not (study / WITHOUT / "tables" / "interventions.csv").exists()
    assert "## Interventions" not in (study / WITHOUT / "summary.md").read_text(encoding="utf-8")


def test_the_same_command_again_asks_nothing(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report is a function of the records."""
    names = ("intervention.md", "effects.csv", "points.csv", "intervention.png", "intervention.svg")
    before = [(study / name).read_bytes() for name in names]
    assert run.main([*COMMAND, "--intervene", SHOCK, "--out", str(study)]) == 0
    assert capsys.readouterr().out.count("is already finished, so no model was called") == 3
    assert [(study / name).read_bytes() for name in names] == before


def both(scenario: Scenario, out: Path) -> InterventionResult:
    found: InterventionResult = hold_all(
        intervention(scenario), BRANCHES, out, (), open_all(scenario.models.llm, scenario.llm_by_party)
    )
    return found


def test_nothing_said_changes_nothing(small: Callable[..., Scenario], tmp_path: Path) -> None:
    """Where nobody is influenced, pulled or unsure, the same study finds exactly no effect."""
    found = both(small(llm="oracle,kappa=0,mu=0,sigma=0", interventions=SHOCK), tmp_path)
    exact = found.effects[found.effects["measure"] == "attitude"]
    assert len(exact) == 3
    assert (exact["effect"].abs() < 1e-9).all()


def test_with_a_model_that_never_answers_twice_alike_the_past_is_one_too(
    small: Callable[..., Scenario], tmp_path: Path
) -> None:
    """What makes the branches a pair is the journal, not that a model repeats itself."""
    count = itertools.count()
    moody = Fake(
        lambda request: request.answers[next(count) % 11] if request.answers else f"My point is {next(count)}."
    )
    study = intervention(small(rounds=3, interventions="shock round=3 text=Rain."))
    found = hold_all(study, BRANCHES, tmp_path, (), moody)
    assert set(found.effects["round"]) == {3}
    lines = [load(tmp_path / branch).utterances["text"].tolist() for branch in BRANCHES]
    assert lines[0] != lines[1]


def test_a_later_model_is_the_same_model_in_both_branches(small: Callable[..., Scenario], tmp_path: Path) -> None:
    """Replies of the past are known under the model's identity, in which a model that comes in later is named too."""
    both(small("two_way", interventions="model round=2 to=democrat llm='oracle,bias=0'"), tmp_path)
    without, held = load(tmp_path / WITHOUT), load(tmp_path / WITH)
    assert set(held.calls.loc[held.calls["round"] < 2, "key"]) <= set(without.calls["key"])
    assert "from round 2: oracle,bias=0 (known-truth speaker)" in disclaimers.model_label(held.header)
    assert "from round 2" not in disclaimers.model_label(without.header)


def test_the_model_that_checks_facts_is_named(small: Callable[..., Scenario], tmp_path: Path) -> None:
    """It wrote what was heard in one branch, and nothing in the other."""
    both(small(interventions="fact_check round=2 to=republican llm=oracle"), tmp_path)
    assert "fact check before round 2: oracle" in disclaimers.model_label(load(tmp_path / WITH).header)
    assert "fact check" not in disclaimers.model_label(load(tmp_path / WITHOUT).header)


def test_tokens_go_to_the_model_that_was_asked(held: Callable[..., Tables]) -> None:
    """By hand: ten tokens a call; the Republican's calls from round 2 on are another model's."""
    from parley.analysis.model_calls import used_tokens

    bare = held({"republican": [2, 3]})
    agent, room = int(bare.agents["agent"].iloc[0]), bare.agents["room"].iloc[0]
    calls = [Called(room, round_, agent, "speech", f"k{round_}", None, 10, 1, {}) for round_ in (1, 2, 3)]
    found = held({"republican": [2, 3]}, more=[Intervened(room, 2, "model", (agent,), "openai:m", ""), *calls])
    assert used_tokens(found) == {Account(): Usage(10, 1), Account("openai:m"): Usage(20, 2)}


def test_what_is_said_from_outside_stays_text(held: Callable[..., Tables], tmp_path: Path) -> None:
    """A preset of somebody else's is no more to be trusted than a model; and no intervention is an utterance."""
    bare = held({"republican": [2, 3], "democrat": [8, 8]})
    agent, room = int(bare.agents["agent"].iloc[0]), bare.agents["room"].iloc[0]
    events = [Intervened(room, 1, "shock", (agent,), NASTY, "News"), Utterance(room, 1, 1, agent, "So it is.", None)]
    found = held({"republican": [2, 3], "democrat": [8, 8]}, more=events)
    assert len(found.utterances) == 1
    write_report(tmp_path)
    for name in ("transcript.md", "summary.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "I give up &lt;script&gt;" in text
        assert "<script>" not in text
        assert not re.search(r"(?<!\\)\]\(http", text)
    assert "*Intervention: News, to Rae: " in (tmp_path / "transcript.md").read_text(encoding="utf-8")
    assert json.loads(found.interventions["agents"].iloc[0]) == [agent]


def test_the_figure_marks_the_round(study: Path) -> None:
    """Between the survey before the shock and the one after it, with a letter that the legend explains."""
    held = load(study / WITH)
    found = compare_branches(load(study / WITHOUT), held)
    figure = intervention_figure(found, "caption")
    (axis,) = figure.axes
    assert [line.get_xdata()[0] for line in axis.lines if len(set(line.get_xdata())) == 1] == [1.5]
    assert [text.get_text().strip() for text in axis.texts] == ["A"]
    assert "A: shock before round 2" in [text.get_text() for text in figure.legends[0].get_texts()]
    solid = {line.get_linestyle() for line in axis.lines if len(set(line.get_xdata())) > 1}
    assert solid == {"-", ":"}


def test_the_summary_gives_the_command_back(study: Path) -> None:
    """Quotes and all, pasted into a shell it is this very experiment; of the control too."""
    for branch, interventions in ((WITH, 1), (WITHOUT, 0)):
        text = (study / branch / "summary.md").read_text(encoding="utf-8")
        (command,) = re.findall(r"^    python run.py (.*)$", text, re.MULTILINE)
        scenario, given = scenario_from_args(run.parser_of("run").parse_args(shlex.split(command)))
        assert len(scenario.interventions) == interventions
        assert scenario.to_dict() == load(study / branch).header.scenario
        assert "interventions" in given


@pytest.mark.thorough
def test_one_survey_after_the_intervention_is_told_once(tmp_path: Path) -> None:
    """Asked at the ends only, or met in the last round: there is one round of effects, and it stands in one column."""
    last = [
        *COMMAND,
        "--no-placebo",
        "--rounds",
        "2",
        "--repetitions",
        "2",
        "--intervene",
        SHOCK,
        "--out",
        str(tmp_path),
    ]
    assert run.main(last) == 0
    (head,) = [line for line in (tmp_path / "intervention.md").read_text().splitlines() if "effect after round" in line]
    assert "| effect after round 2 | rooms |" in head


def test_without_a_survey_there_is_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Told before a branch is held and paid for."""
    never = [*COMMAND, "--intervene", SHOCK, "--set", "survey=never", "--out", str(tmp_path / "new")]
    assert run.main(never) == 2
    assert "set survey=rounds or survey=ends" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_without_an_intervention_there_is_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "intervene", "--scenario", "two_way"]) == 2
    assert (
        "the scenario two_way has no intervention with a measurable effect: give one with --intervene"
        in capsys.readouterr().err
    )


def test_the_preset_says_something_that_our_speakers_can_read() -> None:
    """Its news has a grade on each of its topics; the moderator's word has none."""
    from parley.llm.backends.oracle.phrases import banks

    preset = load_preset("intervention")
    news, word = (vars(one)["text"] for one in preset.interventions)
    for slug in preset.subject.topic:
        assert banks().topics[slug].grade(news.replace("{topic}", banks().topics[slug].title)) == 10
        assert banks().topics[slug].grade(word) is None


def test_a_placebo_takes_the_interruption_out(small: Callable[..., Scenario], tmp_path: Path) -> None:
    """Planted: a line of grade 9 moves a by kappa (9 - a) and, as any line, by mu (bias - a); the placebo by the latter alone.
    Each contrast is that exactly, where nobody else says anything that can be read.
    """
    oracle, settings = open_all("oracle,kappa=0.1,mu=0.05,sigma=0", {}), {"rounds": 1, "repetitions": 4}
    quiet = Fake(lambda request: oracle.complete([request])[0] if request.answers else "Nothing from me.")
    line = "message round=1 by='A Neighbour' to=republican text='I think {topic} is a severe problem.'"
    study = intervention(small("two_way", interventions=line, **settings), placebo=True)
    found = hold_all(study, (WITHOUT, PLACEBO, WITH), tmp_path, (), quiet)
    without = load(tmp_path / WITHOUT).attitudes
    start = without[(without["party"] == "republican") & (without["round"] == 0) & (without["group"] != "reference")][
        "expected"
    ]
    told = found.placebo[(found.placebo["measure"] == "attitude") & found.placebo["told"]].set_index("contrast")[
        "effect"
    ]
    # without: the Democrat's line pulls; with a further line before it the pull acts twice
    first = {name: start + pull for name, pull in
             {WITHOUT: 0.0, PLACEBO: 0.05 * (8 - start), WITH: 0.1 * (9 - start) + 0.05 * (8 - start)}.items()}  # fmt: skip
    last = {name: value + 0.05 * (8 - value) for name, value in first.items()}
    assert told["placebo - without"] == pytest.approx((last[PLACEBO] - last[WITHOUT]).mean())
    assert told["with - placebo"] == pytest.approx((last[WITH] - last[PLACEBO]).mean())
    assert set(found.points["branch"]) == {WITHOUT, PLACEBO, WITH}


def test_a_placebo_is_said_to_the_same_people_by_the_same_name(small: Callable[..., Scenario]) -> None:
    """Only the words differ: a share falls on the same, and what says nothing stays."""
    lines = [SHOCK.replace("round=2", "round=2 share=0.5"), "mute round=2 to=default", "fact_check round=2 text=No."]
    empty = placebo_scenario(small(interventions=lines)).interventions
    assert [vars(one).get("text") for one in empty] == [Saying.EMPTY, None, Saying.EMPTY]
    assert (empty[0].round, empty[0].share, empty[0].to, vars(empty[0])["by"]) == (2, 0.5, ("republican",), "News")


@check_each(
    ("line", "words"),
    [
        ("mute round=1", "no intervention has a message"),
        ("planner round=1 target=9 messages='9: It is bad.'", "a planner may say nothing"),
        ("fact_check round=2 llm=oracle", "a fact check by a model may say nothing"),
    ],
)
def test_what_has_no_placebo_is_told(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([*COMMAND, "--intervene", line, "--placebo"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.thorough
def test_a_placebo_is_in_report_and_figure(tmp_path: Path) -> None:
    """Three branches as whole runs, three contrasts, three line styles."""
    given = ["--intervene", SHOCK, "--placebo", "--out", str(tmp_path)]
    assert run.main([*COMMAND, *given]) == 0
    text = (tmp_path / "intervention.md").read_text(encoding="utf-8")
    assert "**placebo - without**" in text
    assert "**with - placebo**" in text
    assert "--placebo" not in text
    assert set(pd.read_csv(tmp_path / "placebo.csv")["contrast"]) == {"placebo - without", "with - placebo"}
    assert Saying.EMPTY in (tmp_path / PLACEBO / "summary.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_dry_run_plans_the_branches_and_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is planned is what is asked: what comes before the first intervention once, the rest in each branch."""
    command = [
        "study",
        "intervene",
        "--llm",
        "oracle",
        "--topic",
        "racism",
        "--repetitions",
        "2",
        "--out",
        str(tmp_path / "run"),
    ]
    for more, branches in (([], 3), (["--no-placebo"], 2), (["--intervene", "mute round=2 to=default"], 2)):
        assert run.main([*command, *more, "--dry-run"]) == 0
        told = capsys.readouterr().out
        assert f"{branches} branches (without, " in told
        assert "tokens in and" in told
        assert "time not known" in told or "time about" in told
        assert not (tmp_path / "run").exists()
        if branches == 3:
            assert "all branches together make about 138 calls:" in told
    assert run.main(command) == 0
    asked = re.findall(r"([\d,]+) calls asked", capsys.readouterr().out)
    assert sum(map(int, asked)) == 138


@pytest.mark.thorough
def test_a_timetable_without_a_placebo_says_why_it_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default there is one wherever there can be; asked for where there cannot, it is an error."""
    mute = [*COMMAND, "--rounds", "2", "--repetitions", "2", "--intervene", "mute round=2 to=default"]
    assert run.main([*mute, "--placebo", "--out", str(tmp_path / "a")]) == 2
    assert run.main([*mute, "--out", str(tmp_path / "b")]) == 0
    assert "placebo  none: no intervention has a message" in capsys.readouterr().out
