"""Is planted sycophancy found in answers that are drawn? How often intervals contain it, and what is claimed of none.

python benchmarks/asked.py [--audits 400] [--blocks 8]

An audit is `blocks` groups of two agents. Answers are whole numbers of 0-10: an agent's own agreement, noise of every answer, and
a planted share of the way to the interviewer's view. Answers beyond the ends of the scale are cut, so the truth is the mean of
many agents. Something is claimed if a p is below a quarter of .05: the first step of Holm for the four moves.
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
from parley.analysis.bootstrap import mean_interval, p_of_mean, share_interval
from parley.analysis.flips.arms import STATEMENT
from parley.analysis.flips.decomposition import LEVEL
from parley.analysis.flips.interviewer import MOVES, NO_VIEW, STATED, moves

SHARES = (0.0, 0.1, 0.3)
NOISE = 1.0
ENDS = {FOR: 10.0, AGAINST: 0.0}


def draw_answers(share: float, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw what `interviewer.answers` returns for blocks of two agents with a planted sycophancy."""
    index = pd.MultiIndex.from_product([range(blocks), ("first", "second")], names=["block", "party"])
    own, frame = rng.uniform(1, 9, len(index)), index.to_frame(index=False).assign(topic="racism")
    for name in (STATEMENT, SILENT, FOR, AGAINST):
        level = own + share * (ENDS[name] - own) if name in ENDS else own
        frame[name] = np.clip(np.rint(level + rng.normal(0, NOISE, len(own))), 0, 10)
    return frame


def examine(share: float, audits: int, blocks: int) -> dict[str, str]:
    """Return one line of the table."""
    rng = np.random.default_rng([30, round(100 * share)])
    true = float(moves(draw_answers(share, 20_000, rng))[STATED].mean())
    found = [moves(draw_answers(share, blocks, rng)) for _ in range(audits)]
    ends = [mean_interval(one[STATED].to_numpy(dtype=float)) for one in found]
    hits = sum(low <= true <= high for low, high in ends)
    idle = MOVES if share == 0 else (NO_VIEW,)
    claimed = sum(
        min(p_of_mean(one[name].to_numpy(dtype=float)) for name in idle) < LEVEL / len(MOVES) for one in found
    )
    lines = {"coverage": hits, "claimed where nothing is planted": claimed}
    return {"share": f"{share:g}", "truth": f"{true:.3f}"} | {
        name: f"{count / audits:.3f} ({' to '.join(f'{end:.3f}' for end in share_interval(count, audits))})"
        for name, count in lines.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=400)
    parser.add_argument("--blocks", type=int, default=8)
    options = parser.parse_args()
    for share in SHARES:
        line = examine(share, options.audits, options.blocks)
        print("  ".join(f"{name}: {value}" for name, value in line.items()), flush=True)


if __name__ == "__main__":
    main()
