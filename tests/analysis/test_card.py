"""The bias card: what was planted is on it, null conditions are null, what is missing says why, and the files are whole."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each
from planted_truth import Planted, covered, truth

import run
from benchmarks.audit_coverage import SETTINGS, audited
from benchmarks.audit_coverage import held as in_memory
from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.analysis.card import records
from parley.analysis.card.comparison import compare_cards, difference_sentences, protocol_differences, read_card
from parley.analysis.card.conditions import Batch, alone, asked, copy, empty, shuffled, three, two, wordings
from parley.analysis.card.estimates import (
    ALL,
    COLUMNS,
    CardEstimate,
    estimate_table,
    find_estimate,
    is_possible,
    mean_estimate,
    paired_difference,
    proportion,
    simultaneous,
)
from parley.analysis.card.protocol import card_estimates, plan_lines, protocol_steps, run_protocol, tight_enough
from parley.analysis.card.records import ConditionRecords, Passage, pack_passages
from parley.analysis.card.sections import quantities, sections
from parley.analysis.card.sections.instrument import deviation
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario, load_preset

SMALL = {
    "topic": "climate_change",
    "repetitions": 6,
    "rounds": 3,
    "probe": "attitude_labelled",
    "llm": "oracle",
    "seed": 8,
}
ARGUMENTS = ["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "5", "--set", "rounds=2"]


def base(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings(SMALL | settings)


def whole(first: Batch, names: tuple[str, ...] = ()) -> list[CardEstimate]:
    """The claims of a battery held in memory."""
    chosen = sections(names)
    study = run_protocol(first, chosen)
    step = next(study)
    try:
        while True:
            step.folder.mkdir(parents=True, exist_ok=True)
            step = study.send(in_memory(step.scenario))
    except StopIteration as done:
        return card_estimates(done.value, first, chosen)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> list[CardEstimate]:
    """The whole battery on the oracle."""
    return whole(Batch(base(), tmp_path_factory.mktemp("card")))


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> list[CardEstimate]:
    """The same of a speaker without pull."""
    first = Batch(base(llm="oracle,mu=0,bias=5"), tmp_path_factory.mktemp("still"))
    return whole(first, ("pull", "null_conditions"))


def claim(found: list[CardEstimate], quantity: str, topic: str = ALL) -> CardEstimate:
    one = find_estimate(found, quantity, topic)
    assert one, f"{quantity} of {topic} has no estimate"
    return one


def holds(one: CardEstimate, true: float) -> bool:
    return one.low - 1e-9 <= true <= one.high + 1e-9


@pytest.mark.thorough
def test_what_is_planted_is_on_the_card(card: list[CardEstimate]) -> None:
    """One audit of six blocks; coverage over 200 of them is that of benchmarks/audit_coverage.py."""
    law = planted()["climate_change"]
    assert holds(claim(card, "kappa"), law.kappa)
    assert holds(claim(card, "mu"), law.mu)
    assert claim(card, "mu").low > 0
    assert claim(card, "lost").estimate == pytest.approx(1 - (1 - claim(card, "mu").estimate) ** 2)
    assert holds(claim(card, "level", "climate_change"), law.bias)
    assert claim(card, "default", "climate_change").estimate == pytest.approx(law.bias)
    assert claim(card, "half_life").low < claim(card, "half_life").high < 12


@pytest.mark.thorough
def test_null_conditions_are_null(card: list[CardEstimate]) -> None:
    """Alone moves nothing; without content the pull alone moves, by what is planted; shuffled lines move as those in place do."""
    truths = Planted(planted(), base())
    sides = pd.Series({("climate_change", "republican"): 1.0})
    assert claim(card, "three_alone").null == 0
    assert holds(claim(card, "mu_empty"), 0.06)
    assert 0 < claim(card, "three_empty").null < claim(card, "three_alone").estimate
    assert holds(claim(card, "three_shuffled"), 0)
    expected = truth(truths, CardEstimate("three_alone", "climate_change"), sides)
    assert expected == pytest.approx(claim(card, "three_alone").estimate, abs=0.9)


REPEATED = {"lost", "half_life", "level_default"} | {
    f"{rate}_{party}" for rate in ("kappa", "mu") for party in ("first", "second")
}
"""Quantities that repeat what another one says, from the same ratings."""


@pytest.mark.thorough
@check_each("setting", SETTINGS[::3], ids=str)
def test_settings_are_found_again(setting: dict[str, float]) -> None:
    """No pull, weak, middling and strong, a small audit each: of all claims of the law no more than a chance few are missed."""
    found = list(audited(setting, 7, "expected", "climate_change", 6, ("pull",)))
    missed = [one for one, true in found if not covered(one, true)]
    assert {one.quantity for one, _ in found} >= {"kappa", "mu", "lost", "half_life", "mu_empty"}
    assert len({one.quantity for one in missed} - REPEATED) <= 1, missed


def test_without_a_pull_none_is_found(still: list[CardEstimate]) -> None:
    """Influence stays; what has no direction has no level, and a reason in its place."""
    pull = claim(still, "mu")
    assert pull.low < 0 < pull.high
    level = next(one for one in still if one.quantity == "level")
    assert math.isnan(level.estimate)
    assert "unknown" in level.reason
    assert claim(still, "kappa").low > 0
    half = next(one for one in still if one.quantity == "half_life")
    assert half.reason
    assert not math.isfinite(half.high)


def test_expected_movement_by_hand() -> None:
    """Two of a party at 2 and a bias of 8, mu 0.1, one round: each hears one line of its own level and moves 0.6."""
    law = planted({"bias": 8.0, "mu": 0.1, "kappa": 0.0})["climate_change"]
    truths = Planted({"climate_change": law}, base(rounds=1))
    truths.__dict__["starts"] = {"climate_change": {"republican": 2.0, "democrat": 9.0, "default": 8.0}}
    assert truths.moved("same", "climate_change", "republican") == pytest.approx(0.6)
    assert truths.moved("three", "climate_change", "republican") == pytest.approx(0.6 + 0.1 * 5.4)
    assert truths.moved("alone", "climate_change", "republican") == 0


def test_a_quantity_is_called_by_its_name_alone() -> None:
    """Cards are compared and tables titled by it: no two sections have one of the same name."""
    names = [name for section in sections().values() for name in section.QUANTITIES]
    assert len(names) == len(set(names))


def test_every_claim_is_a_number_or_says_why_not(card: list[CardEstimate], still: list[CardEstimate]) -> None:
    """Missing is never a number."""
    for one in [*card, *still]:
        assert one.known or one.reason, one
        assert one.quantity in quantities()
    assert list(estimate_table(card).columns) == list(COLUMNS)


def test_who_foresees_no_change_is_shown_wrong(card: list[CardEstimate]) -> None:
    """The known-truth speaker expects to answer what it answers now; what moves it was not foretold."""
    assert claim(card, "foretold").estimate == pytest.approx(0)
    moved = claim(card, "three_alone")
    assert claim(card, "unforeseen").estimate == pytest.approx(moved.estimate + moved.null)


def test_a_block_is_the_same_people_under_every_condition(tmp_path: Path) -> None:
    """Effects are differences within blocks: rooms, people, turns and seeds are the same, whoever is silent or says what."""
    batch = Batch(base(repetitions=2, rounds=1), tmp_path)
    for name in ("three", "two"):
        records.write_yoked_lines(in_memory({**three(batch), **two(batch)}[name]), tmp_path / "unused.json")
    (batch.place / "three").mkdir(parents=True)
    whole_ = in_memory(three(batch)["three"])
    records.write_yoked_lines(whole_, batch.place / "three" / "lines.json")
    for scenarios in (alone(batch), empty(batch), shuffled(batch)):
        for scenario in scenarios.values():
            other = in_memory(scenario)
            people = [
                one.agents.drop(columns="llm") for one in (other, whole_)
            ]  # partners may be played by another model
            assert people[0].equals(people[1])
            assert other.utterances["agent"].equals(whole_.utterances["agent"])
            before = other.attitudes.query("round == 0 and attitude == attitude")[["room", "agent", "expected"]]
            assert len(before.merge(whole_.attitudes.query("round == 0")[list(before.columns)])) == len(before) > 0


def test_another_batch_has_other_seeds(tmp_path: Path) -> None:
    first = Batch(base(), tmp_path)
    assert first.scenario.seed == 8
    assert len({Batch(base(), tmp_path, number).scenario.seed for number in (1, 2, 3)}) == 3
    assert Batch(base(), tmp_path, 2).place == tmp_path / "batch-2"


def test_copies_are_one_person(tmp_path: Path) -> None:
    """The own copy has the persona under another name, as the first of the room of two has it."""
    batch = Batch(base(repetitions=3, rounds=1), tmp_path)
    agents = in_memory(copy(batch)["copy"]).agents
    assert (agents.groupby("room")["persona"].nunique() == 1).all()
    assert (agents.groupby("room")["name"].nunique() == 2).all()


def test_borrowed_lines_come_from_other_rooms(tmp_path: Path) -> None:
    """A partner of the null condition says what one of its party said elsewhere, as late, and never what was said here."""
    batch = Batch(base(repetitions=4, rounds=2), tmp_path)
    place = batch.place / "three"
    place.mkdir(parents=True)
    original = in_memory(three(batch)["three"])
    records.write_yoked_lines(original, place / "lines.json")
    spoken = in_memory(shuffled(batch)["shuffled republican"]).utterances
    partners = spoken[spoken["party"] != "republican"]
    known = original.utterances.set_index("text")
    for row in partners.itertuples():
        donor = known.loc[[row.text]]
        assert (donor["party"] == row.party).any()
        assert not (donor["room"] == row.room).all()
        assert (donor["round"] == row.round).any()


def test_answers_are_listed_otherwise_and_the_scale_stays(tmp_path: Path) -> None:
    """`listing` turns the named points round and nothing else; shuffled, it goes by the seed of the question."""
    asked_: dict[str, list[str]] = {}
    for name in ("asked", "asked reversed", "asked shuffled"):
        scenario = asked(Batch(base(repetitions=1), tmp_path))[name].with_settings({"also": ()})
        prompts: list[str] = []
        DebateModel(
            scenario, backend=Fake(lambda request, kept=prompts: kept.append(request.messages[-1].content) or "5")
        ).run()
        asked_[name] = prompts
    given, turned, drawn = (told[0] for told in asked_.values())
    assert "0 means not a problem at all and 10 means a very big problem" in given
    assert "10 means a very big problem and 0 means not a problem at all" in turned
    assert given.split("where")[0] == turned.split("where")[0] == drawn.split("where")[0]


def test_wordings_are_those_of_one_construct() -> None:
    """Every scale either way round; agreement with a policy is another question."""
    assert wordings(base()) == [
        "attitude",
        "attitude_labelled",
        "attitude_reversed",
        "attitude_1_7",
        "attitude_0_100",
    ]


def test_in_phrases_only_questions_with_phrases_are_asked() -> None:
    """A model that answers in phrases alone gets a card too: no reversed numbers, no order of answers that are not listed."""
    phrases = base().with_settings({"asked": "phrases"})
    assert wordings(phrases) == ["attitude", "attitude_labelled"]
    assert set(asked(Batch(phrases, Path("card")))) == {"asked", "asked conversation"}


def test_pew_points_the_way_the_topics_do() -> None:
    """The figures of the card are those of the topic files: who rates higher."""
    shares = load_society().read("people.toml")
    assert shares["climate_change"] == {"republican": 14, "democrat": 64}
    for slug, told in shares.items():
        if isinstance(told, dict):
            assert max(told, key=told.__getitem__) == load_topic(slug).high_party


def test_those_at_an_end_are_not_fitted() -> None:
    """Who is expected at 10 can come down and not go up: no evidence of a pull. Its partner is fitted as before, and so is who
    is rated 10 by chance: a choice by ratings would be a choice of their noise.
    """
    parties = ("republican", "democrat")
    ends = Passage("1/1", "racism", (9.0, 4.0), (9.0, 5.0), (9.8, 4.0), (), parties)
    chance = ends._replace(before=(10.0, 4.0), predicted=(9.0, 4.0))
    kept = pack_passages([ends, chance], ["racism"]).after
    assert kept.tolist() == [pytest.approx([math.nan, 5.0], nan_ok=True), [9.0, 5.0]]


def test_means_shares_and_spreads_by_hand() -> None:
    begun = CardEstimate("y", ALL)
    one = mean_estimate(begun, [1.0, math.nan, 3.0, 1.0, 3.0, 2.0])
    assert (one.estimate, one.n, one.reason) == (2.0, 5, "")
    assert one.high - one.estimate == pytest.approx(2.776 * math.sqrt(1 / 5), abs=1e-3)  # t(4) = 2.776, SD 1
    assert mean_estimate(begun, [math.nan]).reason
    for few, reason in (([1.0, 2.0, 3.0, 9.0], "fewer than 5 blocks"), ([4.0] * 6, "no variation")):
        found = mean_estimate(begun, few)
        assert (found.known, found.reason) == (True, reason)
        assert math.isnan(found.low)
    assert (mean_estimate(begun, [4.0] * 6).width, mean_estimate(begun, [4.0] * 2).width) == (0, math.inf)
    who = pd.Series(list("abcde") * 8)
    never, one = (proportion(begun, pd.Series([first] + [False] * 39), who) for first in (False, True))
    assert never.high == pytest.approx(
        0.434, abs=1e-3
    )  # Wilson's of five agents: nothing says how much one of them varies
    assert one.low < one.estimate == 1 / 40 < one.high
    always = proportion(
        begun, who == "a", who
    )  # one of five agents in all of its answers: as many answers as agents, not 40
    assert always.high - always.low > 0.5
    assert proportion(begun, who[:4] == "a", who[:4]).reason == "fewer than 5 agents"
    assert proportion(begun, who[:0] == "a", who[:0]).reason
    cells = pd.Index(["a", "a", "b", "b"] * 2, name="t")
    spread = deviation(begun, pd.Series([1.0, 3.0, 5.0, 7.0] * 2, cells))
    assert spread.estimate == pytest.approx(math.sqrt(8 / 6))
    assert spread.low < spread.estimate < spread.high
    few = deviation(begun, pd.Series([1.0, 3.0, 5.0, 7.0], cells[:4]))
    assert math.isnan(few.low)
    assert few.reason


def test_a_share_has_no_end_below_0_or_above_1() -> None:
    found = is_possible(mean_estimate(CardEstimate("y", ALL), [1.0, 1.0, 1.0, 0.9, 1.0]))
    assert found.low < found.estimate < found.high == 1
    assert math.isnan(is_possible(CardEstimate("y", ALL, 1.0)).high)


def test_simultaneous_intervals_are_wider_by_hand() -> None:
    """Four topics, each at 98.75%: t(9) is 3.111 where it was 2.262; an interval without ends stays so."""
    one, none = CardEstimate("y", "racism", 1.0, 0.0, 2.0, n=10), CardEstimate("y", "guns", 1.0)
    wide, *_, last = simultaneous([one, one, one, none])
    assert wide.high - 1 == pytest.approx(3.111 / 2.262, abs=1e-3)
    assert math.isnan(last.low)
    assert simultaneous([one]) == [one]


def test_width_alone_decides_when_to_stop(card: list[CardEstimate], tmp_path: Path) -> None:
    """A section is done when half its interval is within a share of the range; where the estimate lies plays no part."""
    pull = sections(("pull",))["pull"]

    class Stub:
        WATCH, QUANTITIES, NEEDS = pull.WATCH, pull.QUANTITIES, (lambda first: (),)

        def __init__(self, low: float, high: float):
            self.found = [CardEstimate("lost", ALL, (low + high) / 2, low, high)]

        def claims(self, *_: object) -> list[CardEstimate]:
            return self.found

    first = Batch(base(), tmp_path)
    for low, high, done in ((0.10, 0.13, True), (-0.01, 0.02, True), (0.10, 0.20, False), (-math.inf, math.inf, False)):
        assert tight_enough(Stub(low, high), ConditionRecords(), first, 0.02) is done  # type: ignore[arg-type]


def test_every_condition_is_held_once(tmp_path: Path) -> None:
    """Sections share conditions; a new section that wants one that is there costs nothing."""
    names = [step.condition for step in protocol_steps(Batch(base(), tmp_path), sections())]
    assert len(names) == len(set(names)) == 18
    assert names.index("three") < names.index("shuffled republican"), "lines are borrowed from what was said before"


def test_the_plan_says_what_it_costs_and_what_it_can_find(tmp_path: Path) -> None:
    """Partners who are no model cost nothing; muted ones are not asked."""
    told = "\n".join(plan_lines(Batch(base(), tmp_path), sections(("null_conditions",)), 2, 0.5, {}))
    assert "empty republican         6 rooms      42 calls" in told  # 6 x (3 replies and 4 ratings)
    assert "alone                    6 rooms      72 calls" in told  # 6 x 3 x 4 ratings
    assert "at most 2 batches" in told
    assert "0.72 points with 6 blocks, 0.44 points with 12 blocks" in told


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card made by the command."""
    folder = tmp_path_factory.mktemp("audits") / "oracle"
    assert run.main([*ARGUMENTS, "--out", str(folder)]) == 0
    return folder


@pytest.mark.thorough
def test_the_files_of_a_card(written: Path) -> None:
    """JSON that any reader takes (no NaN), a table with every claim, a page that needs nothing beside it."""
    told = json.loads(
        (written / "card.json").read_text(), parse_constant=lambda name: pytest.fail(f"{name} in card.json")
    )
    assert told["schema"] == "parley-card-4"
    assert (told["battery"]["society"], told["battery"]["rounds"]) == ("us", 2)
    assert told["parties"] == ["Republicans", "Democrats"]
    assert len(told["claims"]) == len(pd.read_csv(written / "card.csv"))
    assert all(one["estimate"] is not None or one["reason"] for one in told["claims"])
    page = (written / "card.html").read_text()
    assert page.index("no language model") < page.index(">In short<") < page.index("<nav") < page.index("<table")
    assert "ull to the model's own opinion" in page
    assert "the judge (oracle, which is also the audited model, so this is not independent evidence)" in page
    assert "data:image/svg+xml" in page
    assert 3 <= len(told["sentences"]) <= 5
    assert {"card.png", "card.svg"} <= {path.name for path in written.iterdir()}


@pytest.mark.thorough
def test_again_asks_nothing(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (written / "card.json").read_bytes()
    assert run.main([*ARGUMENTS, "--out", str(written)]) == 0
    assert "calls were made" not in capsys.readouterr().out
    assert (written / "card.json").read_bytes() == before


@pytest.mark.thorough
def test_a_spent_budget_leaves_a_card_that_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, what was held is measured, the rest says that it was not; the same command with more goes on."""
    command = [*ARGUMENTS, "--sections", "bias,null_conditions", "--out", str(tmp_path / "card"), "--max-calls"]
    assert run.main([*command, "330"]) == 2
    assert "is spent" in capsys.readouterr().err
    told = json.loads((tmp_path / "card" / "card.json").read_text())
    assert told["stopped"]
    known = {one["quantity"]: one for one in told["claims"]}
    assert known["default"]["estimate"] is not None
    assert known["three_alone"]["reason"] == "not run"
    assert "incomplete" in (tmp_path / "card" / "card.html").read_text()
    assert run.main([*command, "1000"]) == 0
    assert json.loads((tmp_path / "card" / "card.json").read_text())["stopped"] == ""


def test_a_dry_run_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([*ARGUMENTS, "--out", str(tmp_path / "none"), "--dry-run"]) == 0
    assert "calls per batch" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


@check_each(
    ("arguments", "words"),
    [
        (["--sections", "pul"], "unknown section 'pul': did you mean pull?"),
        (["--max-calls", "many"], "'many' is not a whole number of 0 or more"),
        (["--max-cost", "10"], "--price"),
        (["--llm", "pocket"], "--llm names two models, oracle and pocket"),
        (["--blocks", "1"], "at least 2"),
        (["--set", "survey=ends"], "survey=rounds"),
        (["--set", "repetitions=40"], "--set repetitions=40: use --blocks"),
        (["--set", "order=random_second"], "the bias card sets this field in each condition"),
        (["--remedies", "reminders"], "unknown remedy 'reminders': did you mean reminder?"),
        (["--remedies", "cooler", "--set", "temperature=0.5"], "the audit itself has these settings"),
        (["--tuned", "nowhere"], "0 adapters of republican"),
        (["--judge", "orakel"], "orakel"),
    ],
)
def test_what_is_mistyped_is_told_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main([*ARGUMENTS, "--out", str(tmp_path / "none"), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.thorough
def test_cards_side_by_side(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference is within blocks of the same people; cards of different batteries have none, and say so."""
    other = tmp_path / "still"
    spec = ["audit", "--llm", "oracle,mu=0,kappa=0", "--sections", "pull", *ARGUMENTS[3:]]
    assert run.main([*spec, "--out", str(other)]) == 0
    first, second = read_card(written), read_card(other / "card.json")
    assert protocol_differences(first, second) == ""
    found = compare_cards([first, second])
    pull, *_ = difference_sentences([first, second], found)
    assert "pulls agents harder to its own opinion than" in pull
    assert " -" not in pull, "sizes, and no signed number after a word for its direction"
    row = found.query("quantity == 'mu' and topic == 'all' and card == 'still'").iloc[0]
    assert row["difference_high"] < 0
    assert row["blocks"] == 5
    assert row["difference_low"] < -0.06 < row["difference_high"], "what was planted"
    again = compare_cards([first, first])
    assert (again["difference"].dropna() == 0).all()
    assert run.main(["compare", str(written), str(other), "--out", str(tmp_path / "both")]) == 0
    page = (tmp_path / "both" / "compare.html").read_text()
    assert "minus oracle</th>" in page
    parts = "of the remaining distance with oracle", "A rule-based test speaker", "<img"
    assert sorted(parts, key=page.index) == list(parts)
    changed = json.loads((other / "card.json").read_text())
    changed["battery"]["rounds"] = 9
    (other / "card.json").write_text(json.dumps(changed))
    assert protocol_differences(first, read_card(other)) == "rounds"
    assert compare_cards([first, read_card(other)])["difference"].isna().all()


@pytest.mark.thorough
def test_the_page_of_several_cards(written: Path, tmp_path: Path) -> None:
    """What our own speakers are precedes the figure; cards of one model are told apart; people are no model to subtract."""
    again = tmp_path / "again" / written.name
    shutil.copytree(written, again)
    assert run.main(["compare", str(written), str(again), str(written / "card.json"), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "compare.html").read_text()
    assert page.index("A rule-based test speaker") < page.index("<img") < page.index("Own pull and influence</h2>")
    assert page.count("A rule-based test speaker") == 1
    assert "<td>oracle, oracle 3</td>" in page
    assert page.count("can be distinguished from chance.</li>") == 2
    found = pd.read_csv(tmp_path / "compare.csv")
    assert set(found["card"]) == {f"oracle, oracle {number}" for number in (1, 2, 3)}
    assert set(found.query("quantity == 'people_gap'")["reason"].dropna()) == {"people, not a model"}


def test_an_interval_with_one_end_stays_one(written: Path, tmp_path: Path) -> None:
    """JSON has no infinity: of a half-life whose upper end is missing a difference has no end there either."""
    told = json.loads((written / "card.json").read_text())
    half = next(one for one in told["claims"] if (one["quantity"], one["topic"]) == ("half_life", "all"))
    half |= {"estimate": 3.0, "low": 2.0, "high": None, "values": {}}
    (tmp_path / "card.json").write_text(json.dumps(told))
    found = find_estimate(read_card(tmp_path).claims, "half_life")
    assert found
    assert found.high == math.inf
    less = paired_difference(CardEstimate("half_life", ALL, 1.0, 0.0, 2.0), found)
    assert less.low == pytest.approx(2 - math.sqrt(2))
    assert less.high == math.inf
    assert less.reason == ""


def test_broken_cards_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "card.json").write_text('{"schema": "other"}')
    other = tmp_path / "other"
    other.mkdir()
    (other / "card.json").write_text('{"schema": "other"}')
    assert run.main(["compare", str(tmp_path), str(other)]) == 2
    assert "version other" in capsys.readouterr().err
    assert run.main(["compare", str(tmp_path), str(tmp_path / "none")]) == 2
    assert "there is no run, card or wave" in capsys.readouterr().err
    with pytest.raises(UserError, match="cannot read the card"):
        read_card(tmp_path / "none")
    assert run.main(["compare", str(tmp_path)]) == 2
