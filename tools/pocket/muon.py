"""Muon in float32.

The library's iterates in bfloat16, for which a processor without AVX-512 takes ten times as long: two thirds of a training there.
"""

from __future__ import annotations

import torch
from torch.optim import _muon


def orthogonal(
    gradient: torch.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> torch.Tensor:
    """The Newton-Schulz iteration of `torch.optim.Muon` in the precision of the gradient (rows, columns)."""
    a, b, c = coefficients
    tall = gradient.size(0) > gradient.size(1)
    matrix = gradient.T if tall else gradient
    matrix = matrix / matrix.norm().clamp(min=eps)
    for _ in range(steps):
        gram = matrix @ matrix.T
        matrix = torch.addmm(matrix, torch.addmm(gram, gram, gram, beta=b, alpha=c), matrix, beta=a)
    return matrix.T if tall else matrix


def use_float32() -> None:
    """From now on every `torch.optim.Muon` of this process iterates so."""
    _muon._zeropower_via_newtonschulz = orthogonal
