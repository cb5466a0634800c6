"""Does a bias card find what was planted? Simulated audits of the known-truth speaker: how often intervals hold the truth.

python benchmarks/audit_coverage.py [--audits 200] [--out runs/audit_coverage] [--measure expected|attitude] [--probe NAME]
    [--noise SD] [--tight X --batches N] [--halved] [--society NAME] [--topics SLUG,SLUG] [--blocks N] [--sections NAME,NAME]

Twelve settings of (bias, pull mu, influence kappa), no pull among them; each audit has people and seeds of its own. Every claim
of which something is planted is a row of claims.csv in the folder; an audit that is there is not run again. The speaker tells
the distribution of its answers; `--measure attitude` takes that away, so that the card has rounded ratings to go by. The noise of
the speaker is carried on; `--noise` adds to each rating a noise that is gone at the next survey (benchmarks/rating_noise.py has
more kinds and more sets of the section on pull and influence alone). With
`--tight` an audit goes on until its intervals are tight, as that of `run.py audit` does; with
`--halved` the claims are the differences that a remedy makes which halves the pull (analysis/card/remedies.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd

from parley.agents.society import US, load_society
from parley.analysis.statistics.intervals import share_interval
from parley.analysis.card.protocol import Sections, run_protocol, card_estimates
from parley.analysis.card.estimates import ALL, CardEstimate, paired_difference
from parley.analysis.card.conditions import Batch, Conditions, alone, asked, closing, empty, same, three, turned, two
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.remedies import core_conditions, measure_remedy
from parley.analysis.card.sections import sections
from parley.analysis.card.sections.null_conditions import directions
from planted_truth import Planted, covered, truth
from parley.analysis.tables import Tables, tables
from parley.analysis.formatting import markdown_table, format_number
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.router import open_all
from parley.model.debate import DebateModel
from parley.model.run_folder import make_header
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset

SETTINGS = [
    {"bias": bias, "mu": mu, "kappa": kappa}
    for mu, (bias, kappa) in product((0.0, 0.03, 0.06, 0.1), ((3.0, 0.0), (5.0, 0.05), (7.5, 0.1)))
]
TOPICS, BLOCKS = "climate_change,illegal_immigration", 8
PROBE = "attitude_labelled"
CHECKED = ("bias", "pull", "null_conditions", "echo", "order", "closing")


NOWHERE = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], []], names=["topic", "party"]))
"""The directions of sections that need none."""


def plainly(batch: Batch) -> Conditions:
    """All people asked separately in one frame and order: the speaker takes no notice of either."""
    return {"asked": asked(batch)["asked"]}


PLANTED = {asked: plainly} | {need: need for need in (three, two, same, empty, alone, turned, closing)}
"""The conditions of whose claims something is planted."""


def bare(section: ModuleType) -> ModuleType:
    """A section without the other conditions."""
    named = ModuleType(section.__name__)
    named.__dict__.update(vars(section), NEEDS=tuple(PLANTED[need] for need in section.NEEDS if need in PLANTED))
    return named


def held(scenario: Scenario) -> Tables:
    """The tables of a scenario that was run in memory."""
    recorder, backend = MemoryRecorder(), open_all(scenario.models.llm, scenario.llm_by_party)
    recorder.write([make_header(scenario, (), backend)])
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    return tables(recorder.events)


def audited(
    setting: Mapping[str, float],
    seed: int,
    measure: str = "expected",
    topics: str = TOPICS,
    blocks: int = BLOCKS,
    names: Sequence[str] = CHECKED,
    probe: str = PROBE,
    batches: int = 1,
    tight: float | None = None,
    society: str = US,
    noise: float = 0.0,
) -> Iterator[tuple[CardEstimate, float]]:
    """The claims of one audit, each with what was planted; of several batches, ended by `tight`."""
    base = base_of(setting, {"society": society, "topic": topics, "repetitions": blocks, "seed": seed, "probe": probe})
    bare_sections = {name: bare(section) for name, section in sections(names).items()}
    with tempfile.TemporaryDirectory() as folder:
        first = Batch(base, Path(folder))
        records = driven(first, bare_sections, measure, batches, tight, noise)
    truths, sides = Planted(planted(setting, society), base), directions(records) if "three" in records else NOWHERE
    for claim in card_estimates(records, first, bare_sections):
        true = truth(truths, claim, sides)
        if true is not None:
            yield claim, true


def driven(
    first: Batch,
    bare_sections: Sections,
    measure: str = "expected",
    batches: int = 1,
    tight: float | None = None,
    noise: float = 0.0,
) -> ConditionRecords:
    """An audit run in memory, without a judge. noise: its SD in points of 0 to 10, in each rating anew."""
    study, tables_ = run_protocol(first, bare_sections, batches, tight), None
    rng = np.random.default_rng(first.base.seed)
    try:
        while True:
            step = next(study) if tables_ is None else study.send(tables_)
            step.folder.mkdir(parents=True, exist_ok=True)
            tables_ = _told(_noisy(held(step.scenario), noise, rng), measure)
    except StopIteration as done:
        records: ConditionRecords = done.value
    return records


def halved(
    setting: Mapping[str, float], seed: int, topics: str, blocks: int, society: str = US
) -> Iterator[tuple[CardEstimate, float]]:
    """What a remedy moves that halves the pull, within blocks, each difference with what is planted."""
    less = setting | {"mu": setting["mu"] / 2}
    more = {"society": society, "topic": topics, "repetitions": blocks, "seed": seed}
    base, other = (base_of(planted_setting, more) for planted_setting in (setting, less))
    truths = [Planted(planted(planted_setting, society), base) for planted_setting in (setting, less)]
    laws = core_conditions()
    with tempfile.TemporaryDirectory() as folder:
        arms = [Batch(scenario, Path(folder) / name) for name, scenario in (("plain", base), ("less", other))]
        held_ = [driven(first, laws) for first in arms]
    sides = directions(held_[0])
    for before, after in zip(*(measure_remedy(*each).values() for each in zip(held_, arms, strict=True)), strict=True):
        ends = [truth(planted_truth, replace(before, topic=ALL), sides) for planted_truth in truths]
        if None not in ends:
            yield paired_difference(before, after), float(np.subtract(ends[1], ends[0]))


def base_of(setting: Mapping[str, float], more: Mapping[str, object]) -> Scenario:
    spec = ",".join(["oracle", *(f"{name}={value}" for name, value in setting.items())])
    return load_preset("three_way").with_settings({"llm": spec, "probe": PROBE, **more})


def _noisy(tables_: Tables, noise: float, rng: np.random.Generator) -> Tables:
    """The tables with noise in every rating, of which whole points have what is left of it after rounding."""
    if not noise:
        return tables_
    frames = {}
    for name in ("attitudes", "probes"):
        frame = getattr(tables_, name)
        value = (frame["expected"].astype(float) + noise * rng.normal(size=len(frame))).clip(0, 10)
        frames[name] = frame.assign(expected=value, attitude=value, answer=value.round().where(frame["answer"].notna()))
    return replace(tables_, **frames)


def _told(tables_: Tables, measure: str) -> Tables:
    """The tables of a speaker that does not tell the distribution of its answers, where that is wanted."""
    if measure == "expected":
        return tables_
    frames = {name: getattr(tables_, name) for name in ("attitudes", "probes")}
    rated = {
        name: frame.assign(expected=float("nan"), attitude=frame["answer"], measure="rating")
        for name, frame in frames.items()
    }
    return replace(tables_, **rated)


def rows(number_: int, options: argparse.Namespace) -> pd.DataFrame:
    setting, names = SETTINGS[number_ % len(SETTINGS)], options.sections.split(",")
    how = (
        options.measure,
        options.topics,
        options.blocks,
        names,
        options.probe,
        options.batches,
        options.tight,
        options.society,
        options.noise,
    )
    claims_and_truths = audited(setting, 1000 + number_, *how)
    if options.halved:
        setting = SETTINGS[3 + number_ % (len(SETTINGS) - 3)]
        claims_and_truths = halved(setting, 1000 + number_, options.topics, options.blocks, options.society)
    told = [
        setting | {"audit": number_, "quantity": claim.quantity, "topic": claim.topic, "truth": true, "estimate": claim.estimate,
                   "low": claim.low, "high": claim.high, "covered": covered(claim, true), "n": claim.n}
        for claim, true in claims_and_truths
    ]  # fmt: skip
    return pd.DataFrame(told)


def summary(claims: pd.DataFrame) -> pd.DataFrame:
    """A row a quantity: claims with an estimate, without one, coverage (with its interval), mean error, mean half width."""
    told = []
    for quantity, quantity_claims in claims.groupby("quantity", sort=False):
        estimated = quantity_claims[quantity_claims["estimate"].notna()]
        low, high = share_interval(int(estimated["covered"].sum()), len(estimated))
        off, width = estimated["estimate"] - estimated["truth"], (estimated["high"] - estimated["low"]) / 2
        finite = width[width < float("inf")]
        told.append(
            {"quantity": quantity, "claims": len(estimated), "missing": len(quantity_claims) - len(estimated),
             "coverage": estimated["covered"].mean(),
             "low": low, "high": high, "error": off[off.abs() < float("inf")].mean(), "width": finite.mean()}
        )  # fmt: skip
    return pd.DataFrame(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("runs/audit_coverage"))
    parser.add_argument("--measure", choices=("expected", "attitude"), default="expected")
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--probe", default=PROBE)
    parser.add_argument("--halved", action="store_true")
    parser.add_argument("--tight", type=float)
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--society", default=US)
    parser.add_argument("--topics", help=f"default: {TOPICS}, or those of another society")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--sections", default=",".join(CHECKED))
    options = parser.parse_args()
    options.topics = options.topics or (
        TOPICS if options.society == US else ",".join(load_society(options.society).topics)
    )
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "claims.csv"
    claims = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["audit"])
    for number in range(options.audits):
        if number not in set(claims["audit"]):
            fresh = rows(number, options)
            fresh.to_csv(path, mode="a", header=not path.exists(), index=False)
            claims = pd.concat([claims, fresh], ignore_index=True)
    told = summary(claims[claims["audit"] < options.audits])
    heads = ["quantity", "claims", "without", "coverage", "95% interval", "mean error", "mean half width"]
    cells = [
        [row.quantity, str(row.claims), str(row.missing), format_number(row.coverage, 3), f"{row.low:.3f} to {row.high:.3f}",
         format_number(row.error, 4), format_number(row.width, 4)]
        for row in told.itertuples()
    ]  # fmt: skip
    print(markdown_table(heads, cells))
    if options.tight is not None and "n" in claims:
        whole = claims[(claims["quantity"] == "lost") & (claims["topic"] == "all")]["n"] / options.blocks
        print(f"batches held: {whole.mean():.1f} on average, {whole.min():.0f} to {whole.max():.0f}")


if __name__ == "__main__":
    main()
