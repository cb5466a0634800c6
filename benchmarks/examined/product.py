"""The functions of the product that make an interval or a p, and which of them another benchmark or test examines.

`statistics_of_product` reads the source: a function counts if it calls a distribution, a test, a permutation, or a quantile, or
if it is in analysis/statistics/ and returns the ends of an interval or a Result. A private function
counts as examined with its file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALLS = frozenset(
    [
        "stdtr",
        "stdtrit",
        "ppf",
        "sf",
        "proportion_confint",
        "conf_int",
        "confidence_interval",
        "cohens_kappa",
        "permutation",
        "permuted",
        "shuffle",
        "binomtest",
        "ttest_1samp",
        "ttest_ind",
        "ttest_rel",
        "levene",
        "anova_oneway",
        "chisquare",
        "tukey_hsd",
        "solve_power",
        "bse",
        "cov_params",
        "quantile",
        "kstest",
        "mannwhitneyu",
        "wilcoxon",
        "pearsonr",
        "spearmanr",
        "kendalltau",
        "chi2_contingency",
        "fisher_exact",
        "bootstrap",
        "percentile",
        "nanquantile",
        "norm_interval",
        "p_of_mean",
        "Null",
    ]
)
HOMES = ("analysis/statistics",)
RETURNS = ("Ends", "Result", "list[Result]", "Iterator[Result]")
WIDTH = "benchmarks/audit_coverage.py"
NO_CLAIM = "no interval and no p of its own"
A_NULL = "deals of a null, which are shown beside a result"
A_SCORE = "a score between the halves of people and a null; no truth of it is known, see limits.md"
ELSEWHERE: dict[str, str] = {
    "analysis.statistics.intervals.quartiles": NO_CLAIM,
    "analysis.statistics.intervals.bounded_ends": "Wilson's, by hand: tests/analysis/test_intervals.py; misses in tools/log",
    "analysis.statistics.intervals.tail": "a part of intervals that are examined: law, reversion",
    "analysis.statistics.power.detectable": "the same solver as rooms_needed; tests/analysis/test_statistics.py",
    "analysis.statistics.groups.with_test": NO_CLAIM,
    "analysis.statistics.null.band": A_NULL,
    "analysis.influence_model.parties_differ": WIDTH,
    "studies.consensus_phases.fit.fit": "studies/consensus_phases/tests/test_consensus_measured.py; coverage in tools/log",
    "studies.consensus_phases.predictions.prediction_row": "studies/consensus_phases/tests/test_consensus_measured.py",
    "studies.structured.yardstick._shuffled_gaps": "studies/structured/tests/test_structured_wordings.py",
    "studies.conjoint.optimum.play": "studies/conjoint/tests/test_optimum.py; coverage in tools/log",
    "studies.conjoint.measures.best_profile": "half of the respondents choose, the others measure by a mean",
    "studies.sheets.attributes._effect": "studies/sheets/tests/test_makeup.py",
    "studies.deep_personas.variety._deal": A_NULL,
    "studies.deep_personas.variety.measure_uniqueness": "studies/deep_personas/tests/test_depth.py",
    "studies.representatives.representation.split_cases": NO_CLAIM,
    "studies.representatives.ballots.rank_correlation": NO_CLAIM,
    "analysis.qualify.measures.shuffled_p": "tests/analysis/test_qualify.py",
    "analysis.qualify.own_voice.agreement": "tests/analysis/test_own_voice.py",
    "analysis.qualify.own_voice.own_party": "tests/analysis/test_own_voice.py",
    "studies.representatives.fairness._gaps": "studies/representatives/tests/test_fairness.py; false alarms in tools/log",
    "studies.representatives.payoff_measures.null_ranges": A_NULL,
    "studies.opinion_groups.clusters._deal": "studies/opinion_groups/tests/test_opinion_groups.py; false alarms in tools/log",
    "studies.news.deviation._dimension": "the p of a mean, which is examined",
    "studies.news.versions.added": "the p of a mean, which is examined",
    "studies.competition.measures.mean_of": "the p of a mean, which is examined; corrected by section, tools/log",
    "studies.honesty.measures.effects": "the p of a mean, which is examined",
    "analysis.metrics.believers_by_topic._rows": "the p of a mean, which is examined",
    "studies.stereotypes.perception._dealt": "studies/stereotypes/tests/test_stereotypes.py",
    "studies.dissonance.report.null_sentence": A_NULL,
    "analysis.human.clones.person_table": A_SCORE,
    "analysis.human.fidelity._compare": A_SCORE,
    "analysis.human.likeness.deal_changes": A_NULL,
    "analysis.human.likeness.deal_partners": A_NULL,
    "analysis.human.likeness.deal_people": A_NULL,
    "analysis.human.scoring.score_part": A_SCORE,
    "analysis.human.sequences._halves": A_SCORE,
    "analysis.human.trajectories.shuffle_steps": A_NULL,
    "studies.law_contest.report.numbers_table": "benchmarks/law_intervals.py",
    "analysis.line_gaps.gap_row": "a mean, which is examined, beside deals",
    "studies.claims.bayes.interval_of": "benchmarks/claims.py",
    "studies.claims.design._balanced_design": NO_CLAIM,
    "studies.claims.curve._effects": "a mean over units, which is examined; the whole verdict: benchmarks/claims.py",
    "studies.distributions.worth.largest_size": "benchmarks/model_worth.py",
    "studies.mixed_subjects.worth.plan_purchase": "equal to all splits: studies/mixed_subjects/tests/test_mixed_subjects.py",
    "studies.claims.pilot.interval": "benchmarks/pilot_power.py",
    "analysis.statistics.power.power_of_mean": "equal to statsmodels and a simulation: studies/claims/tests/test_pilot_power.py",
    "studies.flips.decomposition.null_range": A_NULL,
    "studies.flips.guesses._by_chance": "benchmarks/asked.py --guesses",
    "studies.flips.guesses._dealt": "benchmarks/asked.py --guesses",
    "studies.flips.guesses._difference": "benchmarks/asked.py --guesses",
    "analysis.line_gaps.swapped": A_NULL,
    "analysis.metrics.friendship._exchanged": A_NULL,
    "analysis.metrics.echo_chamber._shuffled_indices": A_NULL,
    "analysis.metrics.emotional_contagion.swapped": "benchmarks/emotional_spread.py",
    "analysis.metrics.friendship.dealt_null": A_NULL,
    "analysis.metrics.public_gap._swapped": A_NULL,
    "analysis.network_plot.layout": NO_CLAIM,
    "analysis.plots.party_means": NO_CLAIM,
    "studies.competing_debates.calibration.shuffled_brier": A_NULL,
    "studies.belief_reader.report._add_results": A_NULL,
    "studies.belief_reader.report._add_weights": NO_CLAIM,
    "studies.belief_reader.report.weight_sentence": "studies/belief_reader/tests/test_belief_reader_fit.py",
    "studies.truthfulness.measures.measure": A_NULL,
    "analysis.surrogate.fidelity._folds": NO_CLAIM,
    "studies.representatives.payoff_training.train_payoff": NO_CLAIM,
    "studies.representatives.pipeline.case_examples": NO_CLAIM,
    "studies.survey_prediction.survey.invent_survey": NO_CLAIM,
    "studies.survey_prediction.training.examples": NO_CLAIM,
    "studies.survey_prediction.training.shuffled": NO_CLAIM,
    "studies.survey_prediction.measures.shuffled_range": A_NULL,
    "studies.twins.history._circle": NO_CLAIM,
    "studies.twins.people_file.drawn": NO_CLAIM,
    "studies.twins.people_file.halves": NO_CLAIM,
    "studies.twins.training._adapter": NO_CLAIM,
    "studies.twins.training.examples": NO_CLAIM,
    "analysis.sweep.tables._test_contrasts": "benchmarks/control.py --reports sweep",
}
"""By function: what examines it, or why there is nothing to examine."""


@cache
def statistics_of_product(root: Path = ROOT) -> tuple[str, ...]:
    """Return the names of the functions, as "analysis.statistics.intervals.mean_interval"."""
    return tuple(_statistics(root))


def files_of_product(root: Path) -> list[Path]:
    """Return the files in which there may be statistics: those of analysis and of studies."""
    files = [path for room in ("analysis", "studies") for path in sorted((root / room).rglob("*.py"))]
    return [path for path in files if path.parent.name != "tests"]


def report_of(path: Path, root: Path) -> str:
    """Return the name of a file in columns.csv: its path without ending; in analysis, below that folder."""
    return path.relative_to(root).with_suffix("").as_posix().removeprefix("analysis/")


def _statistics(root: Path) -> Iterator[str]:
    for path in files_of_product(root):
        name = path.relative_to(root).with_suffix("").as_posix()
        if "/views/" in name or "/commands/" in name or path.name in ("command.py", "organism.py"):
            continue
        home = any(str(path.relative_to(root).as_posix()).startswith(place) for place in HOMES)
        text = path.read_text(encoding="utf-8")
        if not home and not any(call in text for call in CALLS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (_calls(node) or (home and _returns(node))):
                yield f"{name.removesuffix('/__init__').replace('/', '.')}.{node.name}"


def _calls(node: ast.FunctionDef) -> bool:
    names = {child.attr if isinstance(child, ast.Attribute) else child.id
             for child in ast.walk(node) if isinstance(child, ast.Attribute | ast.Name)}  # fmt: skip
    return bool(names & CALLS)


def _returns(node: ast.FunctionDef) -> bool:
    return node.returns is not None and ast.unparse(node.returns) in RETURNS


def without_exam(examined: set[str], root: Path = ROOT) -> list[str]:
    """Return the functions that neither an entry nor ELSEWHERE names. A private one is examined with its file."""
    files = {name.rpartition(".")[0] for name in (*examined, *ELSEWHERE)}
    lacking = []
    for name in statistics_of_product(root):
        file, _, function = name.rpartition(".")
        if name not in examined and name not in ELSEWHERE and not (function.startswith("_") and file in files):
            lacking.append(name)
    return lacking
