"""The summary: what came out, of how much, what is missing, and a command that gives it back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.topic import load_topic, topic_names
from parley.analysis.disclaimers import disclaimer
from parley.analysis.metrics import applies, metrics
from parley.analysis.model_calls import model_names, used_tokens
from parley.analysis.sent_prompts import room_called
from parley.analysis.summary import _about_few_people, _axis, caption, write_summary
from parley.analysis.tables import Tables, load
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.arguments import scenario_from_args
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

THREE = "A Republican, a Democrat and a Default agent debate in one room"
EVIL = "<script>x</script>\n# Fake heading\n| a | b |\x1b[31m `c` [d](http://evil.example)"


def summary(tables: Tables, folder: Path) -> str:
    results = {name: metric.compute(tables) for name, metric in metrics().items()}
    path = write_summary(tables, results, folder / "summary.md", folder / "figures" / "attitudes.png")
    return path.read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The body of the first table of a text."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_findings_come_first_with_n_and_unit(ran: Callable, tmp_path: Path) -> None:
    """A reader meets result, sample size and unit of analysis before the bookkeeping, and one line on what three rooms lack."""
    tables = load(ran("two_way"))
    text = summary(tables, tmp_path)
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == [
        "In short",
        "More findings",
        "How to read the numbers",
        "Broken replies",
        "Needs more rooms",
        "What is missing",
        "Details of the run",
        "Run it again",
    ]
    assert "unit of analysis is the room, which is one debate (n = 3 rooms" in text
    left_out = [metric.TITLE for metric in metrics().values() if metric.LABELS and applies(metric, tables)]
    assert set(re.split("[,:.] ", section(text, "Needs more rooms"))) > {*left_out} - {"Broken replies"}
    assert "- Racism: severity, asked from 0 (not a problem at all) to 10 (a very big problem): How big" in text
    assert "![Attitudes by round](figures/attitudes.png)" in text


def test_rows_are_the_metrics_rows(held: Callable, tmp_path: Path) -> None:
    """Start 3, end 6, Default 8: 3 points, 0.60 of the gap; what does not differ between rows is no column."""
    tables = held(*[{"republican": [2, 4, 5]}, {"republican": [4, 4, 7]}] * 3, reference=8)
    found = rows(section(summary(tables, tmp_path), "Drift toward the Default"))
    assert [cell.split(" (")[0] for cell in found[0]] == ["Republican", "8.00", "3.00", "6.00", "3.00", "0.60", "1.50"]


@pytest.mark.thorough
def test_a_finding_says_who_moved_how_far(held: Callable, tmp_path: Path) -> None:
    """Start 3, end 6.33, Default 8: 3.3 of 5 points; past the Default no share of the way is told; one that stayed has none."""
    starts = [(2, 5), (4, 8), (3, 6), (2, 5), (4, 7), (3, 7)]
    for default, gap, way in (
        (8, "5.0", "3.3 points toward it (95% interval 2.8 to 3.9)."),
        (4.5, "1.5", "3.3 points toward it and beyond it (95% interval 2.8 to 3.9)."),
        (
            6,
            "3.0",
            "3.3 points toward it (95% interval 2.8 to 3.9); it is uncertain whether opinions moved beyond the model's own "
            "opinion.",
        ),
        (1, "2.0", "3.3 points away from it (95% interval 2.8 to 3.9)."),
    ):
        rooms = [
            {"republican": list(pair), "democrat": [9 - number % 2, 9 - number % 2]}
            for number, pair in enumerate(starts)
        ]
        text = section(summary(held(*rooms, reference=default), tmp_path), "In short")
        republicans, democrats = (line for line in text.splitlines() if re.match("- .*(Republicans|Democrats)", line))
        assert (
            republicans
            == f"- The opinions of Republicans began {gap} points from the model's own opinion and moved {way}"
        )
        assert "Democrats" in democrats
        assert "Democrats began" not in democrats
        assert ("audit --llm" in text) == (default > 3), (
            "what moves toward the model's opinion names the command that can tell why"
        )


@pytest.mark.thorough
def test_below_five_rooms_a_finding_only_says_what_was_seen(held: Callable, tmp_path: Path) -> None:
    """One room moved by 3 points: told, with the warning that nothing follows; no word of toward or away."""
    for rooms in (1, 4):
        text = section(summary(held(*[{"republican": [2, 5]}] * rooms, reference=8), tmp_path), "In short")
        many = "1 room" if rooms == 1 else "4 rooms"
        assert (
            f"- The mean opinion of Republicans rose from 2.0 to 5.0 points. With {many} (fewer than 5), this change may"
            in text
        )
        assert "toward" not in text
        assert "audit" not in text


@pytest.mark.thorough
def test_a_movement_in_one_room_may_be_chance_whatever_else_is_not_known(held: Callable, tmp_path: Path) -> None:
    """Without a Default the page said that opinions went up and that the direction is not known, but nothing of chance."""
    for rooms, said in ((1, "With 1 room (fewer than 5), this change may be chance. It"), (5, "points. It")):
        text = summary(held(*[{"republican": [2, 5]}] * rooms), tmp_path)
        assert "- The mean opinion of Republicans rose from 2.0 to 5.0 points. " in text
        assert (
            f"{said} is unknown whether this change is toward the model's own opinion, because no Default agent was"
            in text
        )


@pytest.mark.thorough
def test_a_party_that_stays_is_not_said_to_move(held: Callable, tmp_path: Path) -> None:
    """Changes of both signs: no movement found, with the interval; no change at all: did not move."""
    ends = (3, 1, 2, 3, 1, 2)
    text = section(summary(held(*[{"republican": [2, end]} for end in ends], reference=8), tmp_path), "In short")
    assert (
        "- It is uncertain whether the opinions of Republicans moved, because the 95% interval of the movement includes zero "
        "(estimate 0.0 points, interval 0.9 away to 0.9 toward)." in text
    )
    still = section(summary(held(*[{"republican": [2, 2]}] * 6, reference=8), tmp_path), "In short")
    assert "- The opinions of Republicans did not move in any room, so there is no interval." in still
    lost = section(summary(held(*[{"republican": [2, None]}] * 6, reference=8), tmp_path), "In short")
    assert (
        "- It is unknown how far the opinions of parties moved, because no party has ratings from two surveys." in lost
    )
    assert "- 6 of 13 ratings are missing (46.2%)." in lost


@pytest.mark.thorough
def test_several_topics_are_one_sentence_a_party(ran: Callable, tmp_path: Path) -> None:
    """Four topics and two parties were eight lines of which a headline counted some: now who moved, on how many, how far."""
    four = "gun_violence,racism,climate_change,illegal_immigration"
    text = section(summary(load(ran("three_way", topic=four, repetitions=10, rounds=5)), tmp_path), "In short")
    assert (
        "- The opinions of Republicans moved toward the model's own opinion on all 4 topics, by 2.5 to 3.9 points."
        in text
    )
    assert "; on Climate change the direction is uncertain." in text


@pytest.mark.thorough
def test_rows_of_several_topics_and_groups_name_them(ran: Callable, tmp_path: Path) -> None:
    """Rows are told apart in words, not in slugs."""
    text = summary(load(ran("echo_chamber", topic="racism,abortion", repetitions=5)), tmp_path)
    assert rows(section(text, "Drift toward the Default"))[0][:2] == ["Racism", "Two Republicans and a Default"]
    assert "republican+" not in text


def test_nothing_missing_is_said_in_one_line(ran: Callable, tmp_path: Path) -> None:
    """A table of zeros hides that all is well."""
    text = summary(load(ran("two_way")), tmp_path)
    assert (
        section(text, "What is missing").strip()
        == "Nothing is missing: 21 ratings, 12 replies and 33 calls are readable."
    )
    assert "- 0 of 21 ratings are missing." in text


def test_what_is_missing_is_counted_by_reason_and_party(tmp_path: Path) -> None:
    """Two rooms: the Democrat never speaks, no rating can be read at the first ask, the Default fails outright."""

    def answer(request: Request) -> Reply | str:
        who = request.messages[0].content.lower()
        if request.answers:
            return "dunno" if "democrat" in who or "republican" in who else Reply.failed("timeout")
        return (
            Reply.failed("refused")
            if "democrat" in who and "republican" not in who
            else Reply("Yes.", notes={"unread": 1})
        )

    fields = {"repetitions": 2, "topic": "racism", "rounds": 1}
    task = RunSpec(load_preset("two_way").with_settings(fields), tmp_path / "run", budget=Budget(keep_going=True))
    run_scenario(task, backend=Fake(answer))
    tables = load(tmp_path / "run")
    found = {row[0]: row[1:] for row in rows(section(summary(tables, tmp_path), "What is missing"))}
    assert found["ratings"][:2] == ["10", "10"]
    assert found["ratings"][2].endswith("timeout 2")
    assert found["ratings"][3] == "democrat 4, republican 4, default 2"
    assert found["replies"] == ["2", "4", "refused 2", "democrat 2"]
    assert found["calls that failed"] == ["4", str(len(tables.calls)), "refused 2, timeout 2", ""]
    assert found["ratings asked more than once"][:3] == ["8", "10", "2 8"]
    assert found["calls with lines that the model could not read"][:3] == ["2", str(len(tables.calls)), "speech 2"]


def test_debates_that_outgrow_the_context_are_told_early_with_the_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server of 4k: from some round on each reply was lost, too few at a time to stop the run, and nothing named the cure.

    Two rooms of two agents; the first 8 replies are rounds 1 and 2. Round 4 is the second turn that an agent loses.
    """
    replies = iter(range(100))

    def answer(request: Request) -> Reply | str:
        if request.answers:
            return "4"
        return "Yes, it is." if next(replies) < 8 else Reply.failed("context_overflow", "400: too long")

    fields = {"repetitions": 2, "topic": "racism", "rounds": 5, "survey": "ends"}
    outcome = run_scenario(
        RunSpec(load_preset("two_way").with_settings(fields), tmp_path / "run"), backend=Fake(answer)
    )
    cure = "--set memory=last:12 or --set memory=summary:12"
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("round 4: the debate does not fit into the model's context")
    assert cure in told[0]
    assert outcome.stopped is None
    assert cure in outcome.tally.line
    text = summary(load(tmp_path / "run"), tmp_path)
    assert "From round 3 on, 12 replies and ratings are missing because the debate no longer fits" in text
    assert "not at random" in text


def test_a_model_that_changed_is_at_the_head_and_among_what_is_missing(tmp_path: Path) -> None:
    """Republicans are answered by another model at two of their three replies; the first model's name is in the header."""
    replies = iter(range(100))

    def answer(request: Request) -> Reply | str:
        if request.answers:
            return "4"
        return Reply("Yes.", notes={"served:gpt-[x](http://a)": 1} if next(replies) >= 4 else {})

    fields = {"repetitions": 2, "topic": "racism", "rounds": 2}
    run_scenario(RunSpec(load_preset("two_way").with_settings(fields), tmp_path / "run"), backend=Fake(answer))
    tables = load(tmp_path / "run")
    assert tables.calls["served"].value_counts().to_dict() == {"gpt-[x](http://a)": 4}
    text = summary(tables, tmp_path)
    of = len(tables.calls)
    head, missing = text.split("## In short")[0], section(text, "What is missing")
    assert "**Several models.** The server changed the model during the run, the first time in round 2" in head
    assert f"gpt-\\[x\\]\\(http:\\//a) 4 of {of} calls. So the results are a mixture of models" in head
    assert rows(missing)[-1][:3] == ["calls answered by another model than the first", "4", str(of)]


def test_many_names_of_models_are_not_all_written_out() -> None:
    calls = pd.DataFrame({"served": [None, *[f"m{number}" for number in range(50)], "m1"]})
    assert model_names(calls).value_counts().to_dict() == {
        "other names": 45,
        "m1": 2,
        "m0": 1,
        "m2": 1,
        "m3": 1,
        "m4": 1,
    }


GIVEN: list[dict[str, Any]] = [
    {},
    {"topic": "racism,abortion", "repetitions": 2, "rounds": 0, "seed": 7},
    {"size": 3, "default_agent": "without", "parties": "democrat"},
    {"llm": "oracle,kappa=0,mu=0", "temperature": 0.7, "memory": "last:4", "survey": "ends"},
    {"reference": "", "frame": "it's a chat", "asks": 1},
]


@pytest.mark.thorough
@check_each("given", GIVEN)
def test_the_command_gives_the_same_scenario(given: dict, header: Callable, held: Callable, tmp_path: Path) -> None:
    """`Run it again` is pasted into a shell: it must parse back to this very experiment."""
    scenario = load_preset("echo_chamber").with_settings(given)
    head = replace(header(), scenario=scenario.to_dict(), given=tuple(given))
    text = summary(replace(held({"republican": [2, 3]}), header=head), tmp_path)
    (command,) = [line for line in text.splitlines() if line.startswith("    python run.py ")]
    again, named = scenario_from_args(run.parser_of("run").parse_args(shlex.split(command)[2:]))
    assert again == scenario
    assert set(named) == set(given)


@check_each("fields", [{"name": "my_own"}, {"name": "x\nrm -rf"}, {"rounds": 77}])
def test_no_command_is_better_than_a_wrong_one(fields: dict, header: Callable, held: Callable, tmp_path: Path) -> None:
    """A preset that is not here, or no longer the same: the summary says so and names the record."""
    text = summary(replace(held({"republican": [2, 3]}), header=header(**fields)), tmp_path)
    assert "    python run.py" not in text
    assert "No command repeats this run" in section(text, "Run it again")


@pytest.mark.thorough
def test_an_unfinished_run_says_so(ran: Callable, tmp_path: Path) -> None:
    """What there is of a stopped run is not taken for the whole; its figure says so too."""
    run_scenario(
        RunSpec(
            load_preset("two_way").with_settings({"topic": "racism", "llm": "oracle"}),
            tmp_path / "run",
            budget=Budget(calls=300),
        )
    )
    tables = load(tmp_path / "run")
    done = tables.utterances["round"].max()
    assert f"**Unfinished**: {done} of 5 rounds are finished" in summary(tables, tmp_path)
    assert "(unfinished)" in caption(tables, metrics()["trajectory"].compute(tables))
    assert "nfinished" not in summary(load(ran("two_way")), tmp_path)


@pytest.mark.thorough
@check_each(
    ("backend", "told"),
    [("oracle", "known-truth speaker"), ("pocket", "model organism"), ("fake", "stand-in"), ("openai", None)],
)
def test_made_up_debates_are_called_so(
    backend: str, told: str | None, header: Callable, held: Callable, tmp_path: Path
) -> None:
    """Nobody takes a rule-based backend's numbers for evidence about people, and a real model gets no such note."""
    tables = held({"republican": [2, 3]})
    text = summary(replace(tables, header=header(model=backend)), tmp_path)
    notes = [line for line in text.splitlines() if line.startswith("> ")]
    assert [told in note for note in notes] == ([True] if told else [])


def test_agents_with_one_persona_are_said_to_be_no_independent_people(held: Callable, tmp_path: Path) -> None:
    """300 agents of a network can be 80 personas, up to four in one room with the same text."""
    tables = held(*[{"republican 1": [2, 3], "republican 2": [2, 4], "democrat": [8, 7]}] * 2)
    assert "not independent people" not in summary(tables, tmp_path)
    copied = replace(tables, agents=tables.agents.assign(persona=tables.agents["party"]))
    assert "6 agents have 2 personas, and up to 2 agents of a room have the same persona" in summary(copied, tmp_path)


def test_captions_count_the_rooms_that_were_rated(held: Callable) -> None:
    """38 of 40 is not 40."""
    tables = held({"republican": [2, 3]}, {"republican": [2, None]}, reference=8)
    assert "Means over 1 to 2 rooms" in caption(tables, metrics()["trajectory"].compute(tables))


@pytest.mark.thorough
@check_each("field", ["name", "title", "source", "llm", "probe", "reader"])
def test_a_foreign_record_is_harmless(field: str, header: Callable, held: Callable, tmp_path: Path) -> None:
    """Everything in a record may come from somebody else: no markup, no HTML, no line of its own, no escape."""
    tables = held({"republican": [2, 3], "democrat": [9, None]}, reference=5)
    plain = summary(replace(tables, header=header(**{field: "plain"})), tmp_path)
    shown = summary(replace(tables, header=header(**{field: EVIL})), tmp_path)
    assert len(shown.splitlines()) == len(plain.splitlines())
    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert not re.search(r"<script|^# Fake|(?<!\\)\| a |(?<!\\)\[d|http://", shown, re.MULTILINE)


def test_foreign_reasons_groups_and_topics_are_harmless(held: Callable, tmp_path: Path) -> None:
    """Failure names, groups and topics stand in tables: a bar or a break must not tear them."""
    tables = held({"republican": [2, None]}, topic="racism")
    tables.attitudes["reason"] = EVIL
    for frame in (tables.agents, tables.attitudes):
        frame["topic"] = EVIL
        frame["group"] = f"{EVIL}+default"
    shown = summary(tables, tmp_path)
    assert not re.search(r"<script|^# [Ff]ake|(?<!\\)\| a |http://", shown, re.MULTILINE)


@pytest.mark.thorough
@check_each("settings", [{"survey": "never"}, {"survey": "ends"}, {"rounds": 0}, {"repetitions": 1}])
def test_odd_runs_have_a_summary(settings: dict, ran: Callable, tmp_path: Path) -> None:
    """No ratings, two surveys, no debate, one room: words instead of a crash or a warning."""
    text = summary(load(ran("two_way", **settings)), tmp_path)
    assert ("Nothing can be reported" in text) == (settings in ({"survey": "never"}, {"rounds": 0}))
    assert "nan" not in text.lower().split()


def test_a_run_without_ratings_says_so_in_words(ran: Callable, tmp_path: Path) -> None:
    """Not `0 of 0`, not `asked never`, not `all readable` of nothing."""
    text = summary(load(ran("two_way", survey="never")), tmp_path)
    told = section(text, "In short").split("\n\n")[0].strip().split("\n")
    assert told == [
        "- There are no ratings.",
        "- 0 of the 9 replies that followed an earlier reply repeat earlier replies of the debate (0 expected by chance).",
    ]
    assert "This run had no survey" in section(text, "How to read the numbers")
    told = section(text, "What is missing").strip()
    assert told == "Nothing is missing: 12 replies and 12 calls are readable. There are no ratings."


@pytest.mark.thorough
@check_each(
    ("preset", "given", "told"),
    [
        ("three_way", {}, f"{THREE} (Taubenfeld et al. 2024, Fig 3 (Fig 7 with other models))."),
        (
            "three_way",
            {"repetitions": 2, "seed": 7, "llm": "oracle,mu=0", "topic": "racism"},
            f"{THREE} (Taubenfeld et al. 2024, Fig",
        ),
        ("three_way", {"rounds": 5}, f"{THREE} (Taubenfeld et al. 2024, Fig"),
        ("three_way", {"topic": "racism,abortion"}, f"{THREE} (after Taubenfeld et al. 2024, on other topics)."),
        (
            "three_way",
            {"environment": "groups"},
            "Two Republicans and a Default; Two Democrats and a Default in a debate (after Taubenfeld et al. 2024, "
            "with other settings: environment=groups).",
        ),
        (
            "three_way",
            {"rounds": 2},
            f"{THREE} (after Taubenfeld et al. 2024, with other settings: rounds=2).",
        ),
        (
            "echo_chamber",
            {"size": 5, "seed": 2, "default_agent": "with"},
            "Five Republicans and a Default; Five Democrats and a Default in a debate (after Taubenfeld et al. 2024, "
            "with other settings: size=5, default_agent=with).",
        ),
    ],
)
def test_the_title_is_that_of_what_was_run(
    preset: str, given: dict, told: str, header: Callable, held: Callable, tmp_path: Path
) -> None:
    """A paper's figure is claimed for the preset's own design and topics only; a setting that says the same changes nothing."""
    scenario = load_preset(preset).with_settings(given)
    head = replace(header(), scenario=scenario.to_dict(), given=tuple(given))
    line = summary(replace(held({"republican": [2, 3]}), header=head), tmp_path).splitlines()[2]
    assert told in line
    assert ("Fig" in line) == ("Fig" in told)


def test_a_record_of_an_unknown_preset_has_its_own_title(header: Callable, held: Callable, tmp_path: Path) -> None:
    """A preset of the user's own is what it says it is, unless it was given settings."""
    tables = held({"republican": [2, 3]})
    for given, told in {
        (): "Fig 4).",
        ("topic",): "on other topics).",
        ("size",): "with other settings: size=",
    }.items():
        head = replace(header(name="my_own"), given=given)
        assert told in summary(replace(tables, header=head), tmp_path).splitlines()[2]


PROBES = [(slug, name) for slug in topic_names() for name in load_topic(slug).probes]


@pytest.mark.thorough
@check_each(("topic", "probe"), PROBES)
def test_the_axis_is_told_in_words_of_the_probe(topic: str, probe: str) -> None:
    """The scale that was asked, with the words of its ends, and which of them is 0 and 10 here; each probe and polarity."""
    asked = load_topic(topic).probe(probe)
    scale, ends = asked.scale, [asked.attitude(end) for end in (asked.scale.low, asked.scale.high)]
    here = f", converted to {ends[0]:g} and {ends[1]:g}" * (ends != [scale.low, scale.high])
    told = (
        f"{scale.low} ({scale.labels[scale.low]}) to {scale.high} ({scale.labels[scale.high]}){here}: {asked.question}"
    )
    assert sorted(ends) == [0, 10]
    assert _axis(topic, probe) == f"{asked.construct}, asked from {told}"


def test_the_summary_has_the_axis_of_its_topic(header: Callable, held: Callable, tmp_path: Path) -> None:
    """The page says for each topic what was asked."""
    tables = replace(held({"republican": [2, 3]}, topic="racism"), header=header(probe="agreement"))
    assert f": {_axis('racism', 'agreement')}" in summary(tables, tmp_path)


def test_a_statement_turned_round_has_agreement_at_the_low_end() -> None:
    """Polarity -1: whoever agrees strongly is low on the axis, and the words say so."""
    topic = load_topic("racism")
    turned = replace(topic, probes={"turned": replace(topic.probe("agreement"), polarity=-1)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parley.analysis.summary.load_topic", lambda slug: turned)
        assert "converted to 10 and 0: How" in _axis("racism", "turned")


def test_copies_of_a_persona_in_one_room_are_reported(ran: Callable, tmp_path: Path) -> None:
    """300 agents of a network were 80 personas, and the summary spoke of 300 people. A room of two has no copies."""
    crowd = ran("network", repetitions=1, rounds=0, size=100, topic="racism")
    assert "100 agents have 80 personas, and up to 2 agents of a room have the same" in summary(load(crowd), tmp_path)
    assert "the same one" not in summary(load(ran("two_way")), tmp_path / "pair")


@check_each(("people", "told"), [(3, True), (10, False), (12, False)])
def test_an_interval_over_few_people_says_whom_it_is_about(people: int, told: bool) -> None:
    """40 rooms of three people of a party: the sentence says it itself, so "In short" has no sixth sentence."""
    seats = [("t", "g", f"t/g/{room}", "republican", f"r{room % people}") for room in range(40)]
    frame = pd.DataFrame(seats, columns=["topic", "group", "room", "party", "persona"])
    lines = ["0 are missing.", "Republicans moved 3.8 points (95% interval 3.7 to 4.0).", "Why (95% interval 1 to 2)."]
    tables: Any = SimpleNamespace(agents=frame, groups=["g"])
    first, moved, last = _about_few_people(lines, tables)
    assert [first, last] == [lines[0], lines[2]]
    assert ("; 3 people of a party debate in all rooms" in moved) is told
    assert moved.endswith("in other conversations, not about other people." if told else "3.7 to 4.0).")


@check_each(("personas", "told"), [("people.csv", True), ("./people", True), ("voters", False), ("uk/voters", False)])
def test_the_caveat_of_the_oracle_names_own_people(personas: str, told: bool) -> None:
    scenario = {"llm": "oracle", "topic": ["racism"], "personas": personas}
    header: Any = SimpleNamespace(scenario=scenario, model={"backend": "oracle"}, branch={}, stand_ins=())
    assert ("The rule-based speaker ignores the rest of the file" in (disclaimer(header) or "")) is told


@check_each(
    ("name", "found"),
    [("1", "a/g/000"), ("Room 2", "a/g/001"), ("a/g/001", "a/g/001"), ("3", "write one of"), ("9", "unknown room '9'")],
)
def test_a_room_is_named_by_its_number_in_the_transcript(name: str, found: str) -> None:
    rooms = {"a/g/000": 0, "a/reference default/000": 0, "a/g/001": 1, "a/g/002": 2, "b/g/002": 2}
    seats = [{"room": room, "repetition": repetition} for room, repetition in rooms.items()]
    if found in rooms:
        assert room_called(name, seats) == found
    else:
        with pytest.raises(UserError, match=found):
            room_called(name, seats)


@pytest.mark.thorough
def test_rooms_that_share_personas_are_owned_up_to(ran: Callable, tmp_path: Path) -> None:
    """41 rooms of 40 personas a party, or two seats a party: the rooms are not quite independent. Three of 40 are."""
    many = {"repetitions": 41, "rounds": 0}
    for preset, settings, told in (("two_way", {}, False), ("two_way", many, True), ("echo_chamber", {}, True)):
        text = summary(load(ran(preset, **settings)), tmp_path)
        assert ("A persona takes part in up to 2 rooms of a topic and group" in text) == told


@pytest.mark.thorough
def test_the_summary_says_where_the_dashed_line_comes_from(ran: Callable, tmp_path: Path) -> None:
    """Of whom, and of how many."""
    text = summary(load(ran("echo_chamber")), tmp_path)
    assert "Two Republicans and a Default (its own Defaults, n = 3 per topic)" in text
    assert "Two Republicans (the Defaults of Two Republicans and a Default, n = 3 per topic)" in text
    assert "A Republican and a Democrat (Defaults surveyed outside the debates, n = 3" in summary(
        load(ran("two_way")), tmp_path
    )


def test_a_surrogate_is_no_model_that_is_billed(ran: Callable, tmp_path: Path) -> None:
    """Its party's people who are asked outside are asked the first model, at its price; the row of models names models alone."""
    tables = load(ran("three_way"))
    scenario = tables.header.scenario | {"llms": ["republican=surrogate:s.json", "democrat=openai:other"]}
    held = replace(tables, header=replace(tables.header, scenario=scenario))
    assert {account.voice for account in used_tokens(held)} == {"", "democrat"}
    told = dict(rows(section(summary(held, tmp_path), "Details of the run")))
    assert told["model"] == "oracle; democrat: openai:other"


def test_personas_that_state_nothing_about_an_own_topic_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped personas know the shipped topics; on a topic of the user's own their ratings are the model's stereotype."""
    monkeypatch.chdir(tmp_path)
    assert run.main(["new", "topic", "mine.toml"]) == 0
    assert run.main(["new", "personas", "./people"]) == 0
    own = ["--topic", "./mine.toml"]
    for name, given in {
        "shipped": own,
        "own": [*own, "--set", "personas=./people"],
        "known": ["--topic", "racism"],
    }.items():
        words = ["--scenario", "two_way", "--llm", "fake", "--repetitions", "1", "--rounds", "1", "--keep-going"]
        assert run.main([*words, *given, "--out", name]) == 0
        text = (tmp_path / name / "summary.md").read_text()
        assert ("state nothing about a topic of your own (A new town library)" in text) == (name == "shipped")


def test_the_same_people_in_all_rooms_are_said_first(ran: Callable[..., Path], tmp_path: Path) -> None:
    """A table of three people debated 40 times with an interval of 0.2 points, and only the notes said whose it is."""
    alike = section(summary(load(ran("two_way", cast="fixed", repetitions=6)), tmp_path), "In short")
    assert alike.strip().startswith("- **The same people debate in all 6 rooms of a group**")
    assert "The same people" not in section(summary(load(ran("two_way", repetitions=6)), tmp_path), "In short")
