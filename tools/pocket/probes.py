"""Linear readers of the model's inner states, which the training adds and the finished model does not have.

What a reply follows from stands in the text only at a distance: who speaks, what the persona says on a topic, the opinion of each
line, the attitude after it. The corpus knows all of it. A linear reader has to find each of them in the states of a layer, at the
place where it can be known, so that the layers above can use it. Without them, trainings of this size found the effect of a
line to a fifth of its strength (tools/log).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, rms_norm

from tools.pocket.rows import PARTIES, TOPICS, UNGRADED, Row

POINTS = 11
"""Points of an attitude, 0 to 10."""
WEIGHTS = {"grade": 3.0, "attitude": 4.0, "party": 2.0, "topic": 1.0}
"""Loss weights, beside those of words (tools/pocket/rows.py)."""


class Marks(NamedTuple):
    """Losses of one kind of mark, and how much each counts."""

    losses: torch.Tensor
    weight: float


class Probes(nn.Module):
    """Readers of the states behind some layers: early ones for lines and personas, late ones for the attitude.

    `layers` is the number of layers of the model.
    """

    def __init__(self, hidden: int, layers: int):
        super().__init__()
        self.depth = {"grade": 2, "party": layers - 2, "topic": layers - 2, "attitude": layers - 1}
        sizes = {"grade": POINTS + 1, "party": len(PARTIES), "topic": len(TOPICS), "attitude": POINTS}
        self.readers = nn.ModuleDict({name: nn.Linear(hidden, size) for name, size in sizes.items()})

    def forward(self, states: tuple[torch.Tensor, ...], rows: list[Row]) -> dict[str, Marks]:
        """Return the losses of all marks by kind. states: of the embedding and behind each layer, (rows, length, hidden)."""
        return {name: self._marks(name, states[depth], rows) for name, depth in self.depth.items()}

    def _marks(self, name: str, states: torch.Tensor, rows: list[Row]) -> Marks:
        values = np.stack([getattr(row, name) for row in rows]).astype(np.float32)
        at = np.nonzero(~np.isnan(values))
        read = self._read(name, states[torch.from_numpy(at[0]), torch.from_numpy(at[1])])
        target = torch.from_numpy(values[at]).to(states.device)
        if name in ("party", "topic"):
            losses = cross_entropy(read, target.long(), reduction="none")
        else:
            losses = cross_entropy(read, two_points(target, read.shape[-1]), reduction="none")
        return Marks(losses, WEIGHTS[name])

    def _read(self, name: str, states: torch.Tensor) -> torch.Tensor:
        read: torch.Tensor = self.readers[name](rms_norm(states.float(), states.shape[-1:]))
        return read


def two_points(values: torch.Tensor, points: int) -> torch.Tensor:
    """Return distributions over the points 0, 1, ... with these means, (values, points); UNGRADED is a point of its own."""
    low = values.floor().clamp(max=max(points - 2, 0))
    low = torch.where(values >= UNGRADED, values, torch.minimum(low, torch.full_like(low, POINTS - 2)))
    share = (values - low).clamp(0, 1)
    distributions = torch.zeros(len(values), points, device=values.device)
    distributions.scatter_add_(1, low.long()[:, None], (1 - share)[:, None])
    distributions.scatter_add_(1, (low.long() + 1).clamp(max=points - 1)[:, None], share[:, None])
    return distributions
