"""Raters of the same items: planted severities and errors, what is unknown, and the command."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from parley.__main__ import main
from parley.analysis.statistics.crossed_ratings import fit_ratings, why_no_fit
from parley.analysis.statistics.random_raters import fit_random_raters, why_no_sample

SEVERITY, ERROR = np.array([-0.8, 0.0, 0.8]), np.array([0.3, 0.6, 1.2])


def scored(items: int, seed: int = 1, missing: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scores = 4 + rng.normal(size=(items, 1)) + SEVERITY + ERROR * rng.normal(size=(items, 3))
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores[np.isfinite(scores).any(axis=1)]


def test_planted_severities_and_errors_are_found_with_missing_cells() -> None:
    """Every planted number is near its estimate and, but for a rare miss, inside of its interval."""
    fit = fit_ratings(scored(600, missing=0.3))
    assert fit.mean == pytest.approx(4, abs=0.15)
    assert fit.severity == pytest.approx(SEVERITY, abs=0.15)
    assert fit.error == pytest.approx(ERROR, abs=0.12)
    assert fit.reliability == pytest.approx(1 / (1 + ERROR**2), abs=0.08)
    other = SEVERITY.var(ddof=1) + (ERROR**2).mean()
    truth = [4, *SEVERITY, *ERROR, *(1 / (1 + ERROR**2)), 1 / (1 + other), 1 / (1 + other / 3)]
    held = [low <= value <= high for value, (low, high) in zip(truth, fit.ends, strict=True)]
    assert sum(held) >= len(held) - 1


def test_the_mean_does_not_follow_who_rated_most() -> None:
    """If the severe rater rated all and the lenient one a tenth, the plain mean is too low and the corrected one is not."""
    scores = scored(600, seed=2)
    scores[60:, 2] = np.nan
    scores[300:, 1] = np.nan
    assert np.nanmean(scores) < 3.7
    low, high = fit_ratings(scores).ends[0]
    assert low < 4 < high


def test_alike_raters_have_no_severity() -> None:
    """With two complete raters the mean is that of all scores, and the interval of a severity of 0 holds 0."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(60, 1)) + 0.5 * rng.normal(size=(60, 2))
    fit = fit_ratings(scores)
    assert fit.mean == pytest.approx(scores.mean(), abs=1e-4)
    assert fit.severity[0] == pytest.approx((scores[:, 0] - scores[:, 1]).mean() / 2, abs=1e-4)
    assert fit.ends[1][0] < 0 < fit.ends[1][1]


def test_what_has_no_fit_has_a_reason() -> None:
    """One rater, few items, few shared items, one score for all, and groups of raters without a shared item."""
    whole = scored(60)
    apart, few, one = np.full((80, 4), np.nan), whole.copy(), whole.copy()
    apart[:40, :2], apart[40:, 2:] = whole[:40, :2], whole[:40, :2]
    few[5:, 2], one[:, 1] = np.nan, 3.0
    for scores, reason in [
        (whole[:, :1], "two raters"), (whole[:2], "fewer than 30 items"), (few, "shares fewer than 10"), (one, "one score"),
        (apart, "no item"), (whole, ""),
    ]:  # fmt: skip
        assert reason in why_no_fit(scores)
    assert not why_no_fit(whole)


def test_the_error_of_a_careful_rater_has_an_end_where_its_fit_is_zero() -> None:
    """Of three raters of 30 items, the error of the best is covered in most sets, also where its fit is 0."""
    rng = np.random.default_rng(8)
    held = []
    for _ in range(15):
        errors = np.linspace(0.5, 1, 3) * rng.normal(size=(30, 3))
        low, high = fit_ratings(rng.normal(size=(30, 1)) + errors).ends[4]
        assert 0 <= low < high < 10
        held.append(low <= 0.5 <= high)
    assert np.mean(held) >= 0.8


def test_raters_in_general_have_the_mean_and_the_agreement_that_were_planted() -> None:
    """Three raters drawn at random: mean, spread of severities and both ICCs are inside of their intervals, which are wider than
    those for the raters of the file; with equal raters the spread of severities reaches 0."""
    rng, held, wider = np.random.default_rng(9), [], []
    for _ in range(30):
        scores = 4 + rng.normal(size=(30, 1)) + 0.8 * rng.normal(size=3) + 0.7 * rng.normal(size=(30, 3))
        fit = fit_random_raters(scores)
        truth = (4, 0.8, 1 / (1 + 0.64 + 0.49), 1 / (1 + (0.64 + 0.49) / 3))
        parts = (fit.mean, fit.severity, fit.agreement, fit.agreement_of_means)
        held.append([part.ends[0] <= value <= part.ends[1] for part, value in zip(parts, truth, strict=True)])
        of_file = scores.mean(axis=1).std(ddof=1) / math.sqrt(30)
        wider.append(fit.mean.ends[1] - fit.mean.ends[0] > 4 * of_file)
    assert np.mean(held, axis=0).min() >= 0.88
    assert np.mean(wider) > 0.9
    equal = fit_random_raters(rng.normal(size=(60, 1)) + 0.7 * rng.normal(size=(60, 5)))
    assert equal.severity.ends[0] == 0


def test_raters_in_general_are_unknown_with_a_reason() -> None:
    """Two raters, few whole items, and equal items have no answer."""
    scores = scored(60)
    holes = scores.copy()
    holes[10:, 0] = np.nan
    for given, reason in [
        (scores[:, :2], "it needs 3 raters"), (holes, "fewer than 20 items"), (np.ones((40, 3)), "do not differ"), (scores, ""),
    ]:  # fmt: skip
        assert reason in why_no_sample(given)
    assert not why_no_sample(scores)


def test_the_command_reports_scores_and_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both models run on one file; two items are unknown; a fault of the file is one line and exit 2."""
    lines = ["item,rater,score,category"]
    for place, row in enumerate(scored(60, missing=0.2)):
        for name, value in zip("abc", row, strict=True):
            shown = "" if math.isnan(value) else f"{value:.2f}"
            lines.append(f"t{place},{name},{shown},{'for' if value > 4 else 'against' if shown else ''}")
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["study", "raters", str(path)]) == 0
    text = (tmp_path / "codes" / "raters.md").read_text(encoding="utf-8")
    assert "by the average rater" in text
    assert "by raters in general" in text
    assert "of the answers are for" in text
    assert (tmp_path / "codes" / "items.csv").is_file()
    path.write_text("\n".join(lines[:7]), encoding="utf-8")
    assert main(["study", "raters", str(path), "--out", str(tmp_path / "few")]) == 0
    few = (tmp_path / "few" / "raters.md").read_text(encoding="utf-8")
    assert "fewer than 30 items" in few
    assert "because the correction needs 3 raters" in few
    assert "unknown what other raters would give" in few
    for bad, said in [
        ("item,rater\na,b", "needs a column score"), ("item,rater,score\na,b,x", "must be a number"),
        ("item,rater,score\na,b,1\na,b,2", "two rows"), ("item,rater,score\na,,1", "rater is empty"),
    ]:  # fmt: skip
        path.write_text(bad, encoding="utf-8")
        capsys.readouterr()
        assert main(["study", "raters", str(path)]) == 2
        assert said in capsys.readouterr().err
