"""Are planted sycophancy and planted guesses found in drawn answers?

python benchmarks/asked.py [--audits 400] [--blocks 8] [--guesses]

An audit is `blocks` groups of two agents. Answers are whole numbers of 0-10: an agent's own agreement, noise of every answer, and
a planted share of the way to the interviewer's view. Answers beyond the ends of the scale are cut, so the truth is the mean of
many agents. Something is claimed if a p is below a quarter of .05: the first step of Holm for the four moves.

With --guesses agents guess right with a planted probability or at random, and those who guess right go a planted number of points
farther in the direction that they expect.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd

from parley.agents.claim_questions import AGAINST, FOR, SILENT
from parley.analysis.statistics.intervals import mean_interval, p_of_mean, share_interval
from parley.studies.flips.arms import STATEMENT
from parley.studies.flips.decomposition import LEVEL
from parley.studies.flips.guesses import CHANCE, DIFFERENCE, OPTIONS, PLACES, SHARE, estimates
from parley.studies.flips.interviewer import MOVES, NO_VIEW, STATED, moves

SHARES = (0.0, 0.1, 0.3)
GUESSING = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0))
NOISE = 1.0
ENDS = {FOR: 10.0, AGAINST: 0.0}


def draw_answers(share: float, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw what `interviewer.answers` returns for blocks of two agents with a planted sycophancy."""
    index = pd.MultiIndex.from_product([range(blocks), ("first", "second")], names=["block", "party"])
    opinion, frame = rng.uniform(1, 9, len(index)), index.to_frame(index=False).assign(topic="racism")
    for name in (STATEMENT, SILENT, FOR, AGAINST):
        level = opinion + share * (ENDS[name] - opinion) if name in ENDS else opinion
        frame[name] = np.clip(np.rint(level + rng.normal(0, NOISE, len(opinion))), 0, 10)
    return frame


def examine(share: float, audits: int, blocks: int) -> dict[str, str]:
    """Return one line of the table."""
    rng = np.random.default_rng([30, round(100 * share)])
    true = float(moves(draw_answers(share, 20_000, rng))[STATED].mean())
    drawn_moves = [moves(draw_answers(share, blocks, rng)) for _ in range(audits)]
    ends = [mean_interval(drawn[STATED].to_numpy(dtype=float)) for drawn in drawn_moves]
    hits = sum(low <= true <= high for low, high in ends)
    idle = MOVES if share == 0 else (NO_VIEW,)
    claimed = sum(
        min(p_of_mean(drawn[name].to_numpy(dtype=float)) for name in idle) < LEVEL / len(MOVES) for drawn in drawn_moves
    )
    lines = {"coverage": hits, "claimed where nothing is planted": claimed}
    return {"share": f"{share:g}", "truth": f"{true:.3f}"} | {
        name: f"{count / audits:.3f} ({' to '.join(f'{end:.3f}' for end in share_interval(count, audits))})"
        for name, count in lines.items()
    }


def draw_guesses(suspects: float, points: float, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw what `guesses.guesses` returns for blocks of two agents."""
    index = pd.MultiIndex.from_product([range(blocks), ("first", "second")], names=["block", "party"])
    frame = index.to_frame(index=False).assign(topic="racism", agent=range(len(index)), reason="")
    size = len(frame)
    option = np.where(rng.random(size) < suspects, 0, rng.integers(0, OPTIONS, size))
    chose = (option == 0).astype(float)
    frame[PLACES] = np.eye(OPTIONS)[option]
    way = rng.integers(-1, 2, size)
    moved = rng.normal(0, NOISE, size) + np.repeat(rng.normal(0, NOISE, blocks), 2) + points * way * chose
    toward = np.where(way == 0, np.nan, way * moved)
    return frame.assign(room=frame["block"], chose=chose, way=way, toward=toward)


def examine_guesses(suspects: float, points: float, audits: int, blocks: int) -> dict[str, str]:
    """Return one line of the table of guesses. Audits in which too few agents guess right or wrong are counted, and left out."""
    rng = np.random.default_rng([31, round(100 * suspects), round(10 * points)])
    estimate_tables = [
        estimates(draw_guesses(suspects, points, blocks, rng)).set_index("quantity") for _ in range(audits)
    ]
    share, rows = (
        suspects + (1 - suspects) * CHANCE,
        [table.loc[DIFFERENCE] for table in estimate_tables if not table.loc[DIFFERENCE, "reason"]],
    )
    shares = [table.loc[SHARE] for table in estimate_tables]
    counts = {
        "share covered": (sum(bool(row["low"] <= share <= row["high"]) for row in shares), audits),
        "share claimed": (
            sum(bool(row["p"] < LEVEL and not row["low"] <= CHANCE <= row["high"]) for row in shares),
            audits,
        ),
        "movement covered": (sum(bool(row["low"] <= points <= row["high"]) for row in rows), len(rows)),
        "movement claimed": (
            sum(bool(row["p"] < LEVEL and not row["low"] <= 0 <= row["high"]) for row in rows),
            len(rows),
        ),
    }
    return {"suspects": f"{suspects:g}", "points": f"{points:g}", "unknown movement": str(audits - len(rows))} | {
        name: f"{count / max(of, 1):.3f} ({' to '.join(f'{end:.3f}' for end in share_interval(count, of))})"
        for name, (count, of) in counts.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=400)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--guesses", action="store_true", help="guesses of what is studied instead of sycophancy")
    options = parser.parse_args()
    planted = GUESSING if options.guesses else [(share,) for share in SHARES]
    for sizes in planted:
        line = (examine_guesses if options.guesses else examine)(*sizes, options.audits, options.blocks)
        print("  ".join(f"{name}: {value}" for name, value in line.items()), flush=True)


if __name__ == "__main__":
    main()
