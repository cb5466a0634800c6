"""Mixed-subjects designs: estimates from people and predictions, what the model is worth, how many people to ask."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from scipy.special import ndtri, stdtrit

from parley.__main__ import main
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.studies.mixed_subjects.estimators import ESTIMATORS, Moments, estimate, person_weights, tuned_weights
from parley.studies.mixed_subjects.people import Arm, Sample, read_people
from parley.studies.mixed_subjects.report import estimate_all, worth_lines
from parley.studies.mixed_subjects.worth import measure_worth, people_needed, people_worth, plan_purchase


def invented(seed: int, people: int, others: int, r: float, effect: float = 0.5) -> Sample:
    """Two arms. Outcomes correlate with predictions by r (but for noise); predictions are 3 too high and their effect is 1."""
    random = np.random.default_rng(seed)

    def drawn(size: int) -> tuple[np.ndarray, np.ndarray]:
        hidden = random.normal(size=size)
        return r * hidden + math.sqrt(1 - r * r) * random.normal(size=size), 3 + 2 * hidden

    arms = []
    for treated in (0, 1):
        (outcome, predicted), (_, more) = drawn(people), drawn(others)
        arms.append(Arm(outcome + effect * treated, predicted + treated, more + treated))
    both = drawn(2 * others)[1]
    return Sample((arms[0], arms[1]), np.column_stack([both, both + 1 + 0.1 * random.normal(size=2 * others)]))


class RStream:
    """The normal numbers of R after `set.seed` (Mersenne twister, inversion), to compute a published example again."""

    def __init__(self, seed: int) -> None:
        for _ in range(50):
            seed = (69069 * seed + 1) % 2**32
        words = []
        for _ in range(625):
            seed = (69069 * seed + 1) % 2**32
            words.append(seed)
        self._bits = np.random.MT19937()
        state = {"key": np.array(words[1:], dtype=np.uint32), "pos": 624}
        self._bits.state = {"bit_generator": "MT19937", "state": state}

    def _uniform(self) -> float:
        return float(self._bits.random_raw()) * 2.3283064365386963e-10

    def normal(self, size: int, mean: float, deviation: float) -> np.ndarray:
        big = 134217728
        drawn = [(int(big * self._uniform()) + self._uniform()) / big for _ in range(size)]
        return mean + deviation * ndtri(np.array(drawn))


def published() -> Sample:
    """The example of the introduction of the R package mixedsubjects: 200 people, 1,000 others."""
    r = RStream(123)
    treated, control = r.normal(100, 0.3, 1), r.normal(100, 0, 1)
    outcome = np.concatenate([treated, control])
    first, second = 0.6 * outcome + r.normal(200, 0, 0.5), 0.5 * outcome + r.normal(200, 0, 0.6)
    others, base = r.normal(1000, 0.15, 0.7), r.normal(1000, 0, 0.7)
    others = others + 0.4 * base
    arms = Arm(control, second[100:], base[500:]), Arm(treated, first[:100], others[:500])
    return Sample(arms, np.column_stack([base, others]))


def test_published_example_of_the_r_package() -> None:
    """Same data, same estimates and standard errors, to all printed digits, where no random split is used; near where one is."""
    sample = published()
    assert round(float(np.corrcoef(sample.pairs, rowvar=False)[0, 1]), 7) == 0.4068407
    for name, value, error in [("people alone", 0.4980, 0.1330), ("greg", 0.3166, 0.1054), ("dip", 0.2863, 0.0978)]:
        found = estimate(sample, ESTIMATORS[name])
        assert (round(found.value, 4), round(found.error, 4)) == (value, error), name
    splits = {"ppi++": (0.3388, 0.3485), "doubly tuned": (0.3410, 0.3450), "dip++": (0.3108, 0.3273)}
    for name, printed in splits.items():  # two splits of the package differ by up to .017; ours needs no split
        assert min(printed) - 0.02 < estimate(sample, ESTIMATORS[name]).value < max(printed) + 0.02, name


def test_means_are_those_of_ppi_python() -> None:
    """The tuned weight, and the estimate and its interval at a given weight, are those of the package of PPI's authors."""
    ppi = pytest.importorskip("ppi_py")
    arm = invented(4, 40, 160, 0.6).arms[1]
    weight = float(tuned_weights([Moments.of(arm)], None, False)[0])
    theirs = float(np.squeeze(ppi.ppi_mean_pointestimate(arm.outcome, arm.predicted, arm.others)))
    whole = weight * (arm.people - 1) / arm.people  # its covariance divides by n, ours by n - 1
    ours = float((arm.outcome - whole * arm.predicted).mean() + whole * arm.others.mean())
    assert ours == pytest.approx(theirs, abs=1e-8)
    full = estimate(Sample((arm,)), ESTIMATORS["greg"])
    low, high = ppi.ppi_mean_ci(arm.outcome, arm.predicted, arm.others, alpha=0.05, lam=1)
    residual, added = (arm.outcome - arm.predicted).var() / arm.people, arm.others.var() / len(arm.others)
    reach = ndtri(0.975) * math.sqrt(residual + added)
    assert (full.value - reach, full.value + reach) == pytest.approx((float(low[0]), float(high[0])), abs=1e-8)


def test_weight_of_a_person_does_not_use_the_person() -> None:
    """The shortcut without a loop is the weight computed on everyone else; a wild outcome does not move its own weight."""
    sample = invented(2, 8, 20, 0.7)
    for name in ("ppi++", "doubly tuned", "dip++", "doubly tuned dip"):
        quick = person_weights(sample, ESTIMATORS[name])
        for at, arm in enumerate(sample.arms):
            for person in range(arm.people):
                less = Arm(np.delete(arm.outcome, person), np.delete(arm.predicted, person), arm.others)
                moments = [Moments.of(less if number == at else other) for number, other in enumerate(sample.arms)]
                crossed = (np.cov(sample.pairs, rowvar=False), 40) if ESTIMATORS[name].paired else None
                slow = tuned_weights(moments, crossed, ESTIMATORS[name].weight == "by condition")[at]
                assert quick[at][person] == pytest.approx(float(slow), abs=1e-10), name


def test_predictions_may_be_shifted_or_stretched() -> None:
    """Adding a constant to the predictions changes nothing; tuned estimators do not change if predictions are doubled."""
    sample = invented(5, 12, 30, 0.6)
    for factor, shift in ((1.0, 100.0), (2.0, 0.0)):
        arms = tuple(
            Arm(one.outcome, factor * one.predicted + shift, factor * one.others + shift) for one in sample.arms
        )
        moved = Sample(arms, factor * sample.pairs + shift)
        for name, one in ESTIMATORS.items():
            if factor == 1 or one.weight in ("none", "tuned", "by condition"):
                before, after = estimate(sample, one), estimate(moved, one)
                assert (after.value, after.error) == pytest.approx((before.value, before.error), abs=1e-9), name


def test_intervals_hold_the_planted_effect() -> None:
    """Biased predictions (3 too high, an effect of 1, not .5): every estimator holds .5 in 95% of samples, within chance."""
    covered = pd.DataFrame(
        [(rows["low"] <= 0.5) & (rows["high"] >= 0.5) for rows in (_estimates(seed, 8, 40, 0.6) for seed in range(150))]
    ).mean()
    assert covered.between(0.89, 0.995).all(), covered.to_dict()


@check_each("clusters", [None, np.arange(40) // 2])
def test_a_share_stays_between_0_and_1(clusters: np.ndarray | None) -> None:
    """One of 40 codes is 1, and predictions lie about 0 or 1: Student's intervals went below 0, and the values too. A difference
    of two shares stays between -1 and 1.
    """
    outcome, others = np.zeros(40), np.tile([0.0, 0.1], 40)
    outcome[3] = 1.0
    more = None if clusters is None else np.arange(80) // 4
    arm = Arm(outcome, np.tile([0.4, 0.1], 20), others, clusters, more)
    for name in ("people alone", "greg", "ppi++"):
        found = estimate(Sample((arm,)), ESTIMATORS[name])
        assert 0 <= found.low <= found.value <= found.high < 0.4, name
    assert estimate(Sample((arm,)), ESTIMATORS["greg"]).value == 0.0
    full = Arm(1 - outcome, np.tile([0.9, 1.0], 20), 1 - others, clusters, more)
    found = estimate(Sample((arm, full)), ESTIMATORS["greg"])
    assert -1 <= found.value <= 1
    assert math.isnan(found.low) or -1 <= found.low < found.high <= 1


def _estimates(seed: int, people: int, others: int, r: float) -> pd.DataFrame:
    return estimate_all(invented(seed, people, others, r)).set_index("name")


def test_useless_predictions_are_worth_nothing() -> None:
    """Without a relation the worth's interval begins at 0 in almost all samples; with r = .8 it never does."""
    shares = {
        r: np.mean(
            [measure_worth(invented(seed, 25, 100, r), np.random.default_rng(0)).worth[1] > 0 for seed in range(25)]
        )
        for r in (0.0, 0.8)
    }
    assert shares[0.0] <= 0.16
    assert shares[0.8] == 1.0


def test_worth_by_hand() -> None:
    """r = .6 leaves 1 - .36 of the variance with endless predictions: 100 people do the work of 156.25."""
    assert people_worth(0.6, 100, math.inf) == pytest.approx(56.25)
    assert people_worth(0.6, 100, 100) == pytest.approx(100 / 0.82 - 100)
    assert people_worth(0.6, 100, 0) == 0
    assert math.isnan(measure_worth(invented(1, 9, 50, 0.8), np.random.default_rng(0)).r), (
        "nine people in a condition are too few"
    )


def test_a_few_extreme_people_make_no_worth() -> None:
    """One of 40 people is 10 SD off in both: r is near 1 by this person alone, and its interval said so (lognormal numbers missed
    in 12%)."""
    sample = invented(3, 40, 100, 0.0)
    (arm, *_) = sample.arms
    usual = measure_worth(sample, np.random.default_rng(0))
    extreme = np.where(np.arange(arm.people) == 0, 10.0, 0.0)
    one = Sample((Arm(arm.outcome + extreme, arm.predicted + extreme, arm.others), *sample.arms[1:]))
    found = measure_worth(one, np.random.default_rng(0))
    assert math.isfinite(usual.low)
    assert found.r > 0.4
    assert math.isnan(found.low)
    (line,) = worth_lines(found, 40)
    assert "a few people have extreme values" in line


def test_people_needed_by_hand() -> None:
    """A mean with variance 4 within 0.5 needs 4 * (1.96 / .5)^2 = 62 people, and 40 with r = .6."""
    outcome = np.array([-2.0, 2.0] * 2 + [0.0]) * math.sqrt(4 / 4)
    sample = Sample((Arm(outcome, outcome, outcome),))
    assert outcome.var(ddof=1) == 4
    assert people_needed(sample, 0.6, [0.5]).iloc[0].tolist() == [
        0.5,
        64,
        42,
    ]  # t of 63 is 1.998: 1.998 * 2 / 8 = 0.4996
    assert people_needed(sample, 0.6, [5.0]).iloc[0].tolist() == [5.0, 10, 10]  # below 10 a model's worth is unknown


def test_purchase_is_the_best_of_all() -> None:
    """No other split of the budget between people and predictions gives a narrower interval."""
    sample = invented(3, 50, 50, 0.6)
    plan = plan_purchase(sample, 0.6, 1000, 5, 0.05)
    spread = 2 * sum(arm.outcome.var(ddof=1) for arm in sample.arms)
    splits = [(stdtrit(people - 2, 0.975) * math.sqrt(spread * (0.64 / people + 0.36 / (100 * (200 - people)))), people)
              for people in range(10, 198)]  # fmt: skip
    assert (plan.reach, plan.people) == (pytest.approx(min(splits)[0]), min(splits)[1])
    assert plan.predictions == 100 * (200 - plan.people)
    assert plan.alone == pytest.approx(stdtrit(198, 0.975) * math.sqrt(spread / 200))
    few = plan_purchase(sample, 0.6, 12, 5, 0.05)
    assert (few.people, few.predictions, math.isnan(few.reach)) == (2, 0, True)
    assert plan_purchase(sample, 0.01, 1000, 5, 4.9).predictions == 0, (
        "expensive predictions without a relation are not bought"
    )


def test_a_purchase_counts_prices_exactly_and_promises_no_interval_that_the_page_would_not_give() -> None:
    """By hand: 2.4 pays for six people at 0.4; below five people in a condition there is no interval; a budget may be huge."""
    both = invented(3, 50, 50, 0.6)
    one = Sample(both.arms[:1])
    plan, deviation = plan_purchase(one, 0.0, 2.4, 0.4, 0.1), one.arms[0].outcome.std(ddof=1)
    assert (plan.people, plan.alone) == (6, pytest.approx(stdtrit(5, 0.975) * deviation / math.sqrt(6)))
    assert plan_purchase(one, 1.0, 70, 0.7, 0.1).predictions == 588  # with 16 people
    for sample, fewest in ((one, 5), (both, 10)):
        plans = [plan_purchase(sample, 0.9, 10 * people, 10, 1) for people in range(1, fewest + 1)]
        assert [math.isnan(plan.reach) for plan in plans] == [True] * (fewest - 1) + [False]
    assert plan_purchase(both, 0.0, 1e30, 1, 1e-9).predictions == 0


def test_a_purchase_of_few_people_is_called_so(tmp_path: Path) -> None:
    """A budget for six people buys an interval that the report does not vouch for."""
    rng = np.random.default_rng(2)
    known = [f"p{one},{value},{value + noise}" for one, (value, noise) in enumerate(rng.normal(5, 1, (20, 2)))]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["person,outcome,predicted", *known, *[f"q{one},,{one % 7}" for one in range(40)]]))
    assert main(["study", "mixed", str(path), "--prices", "60,10,0.5", "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "mixed.md").read_text(encoding="utf-8")
    assert "With fewer than 10 people, the interval may be wider, and the model's worth is unknown." in page


ROWS = """person,condition,outcome,predicted_control,predicted_news
a,control,4,6,7
b,news,5,6,8
c,news,6,7,9
d,control,3,5,6
e,,,6,7
f,,,7,9
g,control,2,,
h,,3,5,6
"""


def test_people_are_read_and_lost_people_counted(tmp_path: Path) -> None:
    """Each person has the prediction of its condition; people without a prediction or a condition are left out, and counted."""
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    people = read_people(path)
    assert people.conditions == ("control", "news")
    assert people.lost == {"no condition": 1, "no prediction": 1}
    control, news = people.sample().arms
    assert control.outcome.tolist() == [4, 3]
    assert control.predicted.tolist() == [6, 5]
    assert news.predicted.tolist() == [8, 9]
    assert np.array_equal(people.sample().pairs, [[6, 7], [7, 9]])
    assert read_people(path, control="news").conditions == ("news", "control")


def test_wrong_files_end_in_one_line(tmp_path: Path) -> None:
    """A user's mistake is a UserError that says what to do."""
    wrong = {
        "person,outcome\na,1\n": "give predictions",
        "person,predicted\na,1\n": "lacks the column outcome",
        "person,outcome,predicted\na,1,2\na,2,3\n": "two rows",
        "person,outcome,predicted\na,much,2\n": "must be a number",
        "person,outcome,predicted\na,,2\n": "no person has both",
        "person,condition,outcome,predicted\na,x,1,2\nb,x,1,2\n": "two different values",
        "person,outcome,predicted\n,1,2\n": "row 2: person is empty",
        "person,outcome,predicted\np,1,1,2\n": "row 2: it has 4 values",
        "": "is empty",
    }
    path = tmp_path / "people.csv"
    for text, said in wrong.items():
        path.write_text(text)
        with pytest.raises(UserError, match=said):
            read_people(path)
    path.write_text(ROWS)
    with pytest.raises(UserError, match="condition"):
        read_people(path, control="nws")
    for prices in ("10,5", "1e300,1e-10,1e-300"):
        assert main(["study", "mixed", str(path), "--prices", prices]) == 2
    assert main(["study", "mixed", str(path), "--run", "a=x", "--run", "a=y"]) == 2
    assert main(["study", "mixed", str(path), "--out", str(path)]) == 2, "a file is no folder of results"
    (bare := tmp_path / "people").write_text(ROWS)
    assert main(["study", "mixed", str(bare)]) == 2, "without an ending, the folder would have the name of the file"


def test_predictions_that_are_all_equal_have_no_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a correlation of 0 nor an interval of no width is printed."""
    path = tmp_path / "people.csv"
    path.write_text("person,outcome,predicted\n" + "".join(f"p{n},{n if n < 15 else ''},3\n" for n in range(40)))
    assert main(["study", "mixed", str(path)]) == 0
    page = (tmp_path / "people" / "mixed.md").read_text()
    assert (
        "It is unknown what the model is worth, because within conditions all outcomes, or all predictions, are equal."
        in page
    )
    assert "With predictions the interval is as wide." in page


def test_few_people_have_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With two people in a condition neither an interval nor a worth is printed, and no NaN."""
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    assert main(["study", "mixed", str(path)]) == 0
    page = (tmp_path / "people" / "mixed.md").read_text()
    assert "because there are fewer than 5 people in a condition" in page
    assert "because there are fewer than 10 people in a condition" in page
    assert "nan" not in page.lower()


def test_predictions_come_from_runs(tmp_path: Path) -> None:
    """A person's prediction is the mean last rating of its persona; personas without an outcome are the others."""
    run = tmp_path / "run"
    words = ["--scenario", "two_way", "--llm", "oracle", "--topic", "climate_change", "--rounds", "1"]
    assert main([*words, "--repetitions", "3", "--out", str(run)]) == 0
    rated = load(run)
    ratings = rated.attitudes.merge(rated.agents[["room", "agent", "persona"]])
    final = ratings[ratings["round"] == ratings.groupby(["room", "agent"])["round"].transform("max")]
    by_hand = final.groupby("persona")["rating"].mean()
    asked = sorted(by_hand.index)[:2]
    path = tmp_path / "people.csv"
    path.write_text("person,outcome\n" + "".join(f"{name},5\n" for name in asked) + "stranger,4\n")
    people = read_people(path, runs={"": run})
    assert people.lost == {"no prediction": 1}
    (arm,) = people.sample().arms
    assert arm.predicted.tolist() == pytest.approx(by_hand[asked].tolist())
    assert sorted(arm.others) == pytest.approx(sorted(by_hand.drop(asked)))
