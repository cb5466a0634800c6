"""Raters of the same items: planted severities and errors, what is unknown, and the command."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from parley.__main__ import main
from parley.analysis.statistics.crossed_ratings import fit_ratings, why_no_fit

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


def test_the_command_reports_scores_and_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both models run on one file; two items are unknown; a fault of the file is one line and exit 2."""
    lines = ["item,rater,score,category"]
    for place, row in enumerate(scored(60, missing=0.2)):
        for name, value in zip("abc", row, strict=True):
            shown = "" if math.isnan(value) else f"{value:.2f}"
            lines.append(f"t{place},{name},{shown},{'for' if value > 4 else 'against' if shown else ''}")
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["raters", str(path)]) == 0
    text = (tmp_path / "codes" / "raters.md").read_text(encoding="utf-8")
    assert "by the average rater" in text
    assert "of the answers are for" in text
    assert (tmp_path / "codes" / "items.csv").is_file()
    path.write_text("\n".join(lines[:7]), encoding="utf-8")
    assert main(["raters", str(path), "--out", str(tmp_path / "few")]) == 0
    few = (tmp_path / "few" / "raters.md").read_text(encoding="utf-8")
    assert "is unknown: fewer than 30 items" in few
    assert "is unknown: it needs 3 raters" in few
    for bad, said in [
        ("item,rater\na,b", "needs a column score"), ("item,rater,score\na,b,x", "must be a number"),
        ("item,rater,score\na,b,1\na,b,2", "two rows"), ("item,rater,score\na,,1", "lacks its item"),
    ]:  # fmt: skip
        path.write_text(bad, encoding="utf-8")
        capsys.readouterr()
        assert main(["raters", str(path)]) == 2
        assert said in capsys.readouterr().err
