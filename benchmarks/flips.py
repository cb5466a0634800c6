"""How often the intervals of `run.py study flips` contain a planted cause, and what other parts claim.

python benchmarks/flips.py [--audits 40] [--blocks 10] [--size 0.4] [--only conformity] [--generated 300]

A line a planted cause (and one of nothing): the share of audits in which the interval of its part contains the truth, the mean
error of this part, the largest mean error of another part (cross-talk), and how often a part without a planted cause is claimed.
A part without variation has no interval; it covers its truth if it equals it. The truth follows from the lines that each agent
heard: the planted probability, times the share of agents for whom the cause was there. With
`--generated` no debate is run: flips are drawn by the law, so that many audits cost little.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd
from audit_coverage import driven

from parley.analysis.statistics.intervals import NO_VARIATION, mean_interval, share_interval
from parley.analysis.card.conditions import Batch
from parley.analysis.card.records import ConditionRecords
from parley.studies.flips import arms
from parley.studies.flips.decomposition import (
    ACQUIESCENCE,
    ARMS,
    LEVEL,
    MOVEMENT,
    PARTS,
    components,
    estimates,
    pairs,
    usable,
)
from parley.studies.flips.law import CAUSES, causes_heard
from parley.llm.backends.oracle.phrases import banks
from parley.model.scenario import load_preset

STILL = "oracle,kappa=0,mu=0,sigma=0"
EXACT = 1e-6


def audit(planted: Mapping[str, float], seed: int, blocks: int, topic: str = "racism") -> ConditionRecords:
    """Run all arms on a speaker whom nothing moves but the planted causes."""
    flips = "+".join(f"{cause}:{size:g}" for cause, size in planted.items())
    settings = {"topic": topic, "repetitions": blocks, "rounds": 1, "llm": f"{STILL},flips={flips}" if flips else STILL}
    base = load_preset("three_way").with_settings({**settings, "seed": seed, **arms.SETTINGS})
    with tempfile.TemporaryDirectory() as folder:
        return driven(Batch(base, Path(folder)), arms.sections(arms))


def truths(study: ConditionRecords, planted: Mapping[str, float]) -> dict[str, float]:
    """Return the expected value of each part, given the lines that agents heard."""
    flips = {arm: float(np.mean(_expected(study, arm, planted))) for arm in ARMS}
    steps = np.diff([0.0, *flips.values()])
    agreed = planted.get("acquiescence", 0.0) / 2
    return {**dict(zip(PARTS, steps, strict=True)), ACQUIESCENCE: agreed, MOVEMENT: flips["three"] + agreed}


def _expected(study: ConditionRecords, arm: str, planted: Mapping[str, float]) -> list[float]:
    """Return for each agent of an arm the probability that the rating flips, without acquiescence."""
    chances, wavers = [], planted.get("instability", 0.0)
    for name in [name for name in study.records if name.partition(" ")[0] == arm]:
        (tables,) = study.records[name]
        parties = [name.partition(" ")[2]] if " " in name else study.parties
        first = tables.attitudes[tables.attitudes["round"] == 0].set_index(["room", "agent"])["attitude"]
        lines = dict(iter(tables.utterances.dropna(subset="text").groupby("room", observed=True)))
        for room, people in tables.agents.groupby("room", observed=True):
            room_turns = lines[room] if room in lines else tables.utterances.iloc[:0]
            for agent in people.loc[people["party"].isin(parties), "agent"]:
                reading = _reading(people, room_turns.loc[room_turns["agent"] != agent, "text"])
                there = set(causes_heard(reading, first[room, agent]))
                still = np.prod([1 - planted.get(cause, 0.0) for cause in there & set(PARTS)])
                end = 1 - (1 - wavers) * still
                chances.append((1 - wavers) * end + wavers * (1 - end))
    return chances


def _reading(people: pd.DataFrame, heard: pd.Series) -> Any:
    """Return what the law reads of a request: the lines heard in a room, its topic, its names."""
    names = SimpleNamespace(names=frozenset(people["name"]))
    lines = [("", text) for text in heard]
    return SimpleNamespace(heard=lines, banks=banks("us"), topic=people["topic"].iloc[0], request=names)


def examine(planted: Mapping[str, float], audits: int, blocks: int) -> dict[str, Any]:
    """Return one line of the table. All audits are run at once, as so many groups of personas, and each has `blocks` of them."""
    study, planted_part = audit(planted, 1000, audits * blocks), next(iter(planted), "")
    frame, true = usable(pairs(study)), truths(study, planted)
    number = frame["block"].str.partition("/")[2].astype(int)
    hits, claimed, values = [], [], []
    for _, part_of in frame.groupby((number - number.min()) // blocks):
        part_estimates = estimates(part_of).query("measure == 'flip'").set_index("part")
        values.append(part_estimates["estimate"] - pd.Series(true))
        for part_name, row in part_estimates.iterrows():
            if part_name == planted_part or not planted_part:
                hits.append(_covers(row, true[str(part_name)]))
            elif part_name != MOVEMENT and abs(true[str(part_name)]) < EXACT:
                claimed.append(bool(row["p_holm"] < LEVEL))
    low, high = share_interval(sum(hits), len(hits))
    errors = pd.DataFrame(values).mean()
    others = errors.drop([MOVEMENT, *([planted_part] if planted_part else [])])
    return {
        "planted": planted_part or "nothing",
        "audits": len(values),
        "truth": f"{true.get(planted_part, 0.0):.3f}",
        "coverage": f"{np.mean(hits):.3f} ({low:.3f} to {high:.3f})",
        "mean error": f"{errors[planted_part] if planted_part else 0:+.4f}",
        "cross-talk": f"{others.abs().max():.4f} ({others.abs().idxmax()})",
        "others claimed": f"{np.mean(claimed) if claimed else 0:.4f}",
    }


def _covers(row: pd.Series, true: float) -> bool:
    """Return whether the interval of a part contains the truth; one without variation does if it equals it."""
    if row["reason"] == NO_VARIATION:
        return bool(abs(row["estimate"] - true) < EXACT)
    return bool(row["low"] <= true <= row["high"])


def draw_pairs(cause: str, size: float, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw what `pairs` returns for blocks of two agents, whom one cause turns; it is there from its arm on."""
    index = pd.MultiIndex.from_product([range(blocks), ("first", "second"), (True, False)])
    rows = index.to_frame(index=False, name=["block", "party", "agrees"]).assign(topic="racism")
    is_turned = np.repeat(rng.random(2 * blocks) < size, 2)
    first = last = rows["agrees"].to_numpy()
    drawn = []
    if cause == "instability":
        first, last = (np.where(rng.random(len(rows)) < size, ~rows["agrees"], rows["agrees"]) for _ in range(2))
    for place, arm in enumerate(ARMS):
        end = np.where(is_turned, ~first, first) if cause in PARTS[1 : place + 1] else last
        end = np.where(is_turned & (place > 0), True, end) if cause == ACQUIESCENCE else end
        drawn.append(rows.assign(arm=arm, guarded=first, flip=(first != end).astype(float)))
    return pd.concat(drawn, ignore_index=True)


def examine_drawn(cause: str, size: float, audits: int, blocks: int) -> dict[str, Any]:
    """Return one line of the table for flips that are drawn without a debate."""
    rng = np.random.default_rng([3, CAUSES.index(cause)])
    drawn = [components(draw_pairs(cause, size, blocks, rng), "flip") for _ in range(audits)]
    units = pd.concat(drawn)
    true = {"instability": 2 * size * (1 - size), ACQUIESCENCE: size / 2}.get(cause, size)
    ends = [mean_interval(audit_components[cause].to_numpy(dtype=float)) for audit_components in drawn]
    hits = [low <= true <= high for low, high in ends]
    low, high = share_interval(sum(hits), len(hits))
    others = units.drop(columns=[cause, MOVEMENT]).mean().abs()
    return {
        "planted": cause,
        "audits": audits,
        "truth": f"{true:.3f}",
        "coverage": f"{np.mean(hits):.3f} ({low:.3f} to {high:.3f})",
        "mean error": f"{units[cause].mean() - true:+.4f}",
        "cross-talk": f"{others.max():.4f} ({others.idxmax()})",
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--size", type=float, default=0.4)
    parser.add_argument("--generated", type=int, default=0, help="number of audits without debates")
    parser.add_argument("--only", choices=(*CAUSES, "nothing"))
    options = parser.parse_args()
    for cause in (*CAUSES, *([] if options.generated else ["nothing"])):
        if options.only not in (None, cause):
            continue
        if options.generated:
            line = examine_drawn(cause, options.size, options.generated, options.blocks)
        else:
            planted = {} if cause == "nothing" else {cause: options.size}
            line = examine(planted, options.audits, options.blocks)
        print("  ".join(f"{name}: {value}" for name, value in line.items()), flush=True)


if __name__ == "__main__":
    main()
