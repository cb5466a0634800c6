"""Who is in a population, where they begin, and who hears whom, as it stands on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.sparse import csr_array

from agents.laws.base import Codes, Floats
from environments import sparse
from llm.errors import UserError, unknown

AXIS = (0.0, 10.0)
DETAIL = 100
"""Into how many equal parts a normal start is cut."""


@dataclass(frozen=True)
class Party:
    """Some of the people: their share of all (by weight), and where they begin, as quantiles at equal steps from 0 to 1.

    `Party("all", 1.0, (0.0, 10.0))` is everybody, evenly spread over the axis.
    """

    name: str
    share: float
    starts: tuple[float, ...]


EVERYBODY = (Party("all", 1.0, AXIS),)


def parse_parties(text: str) -> tuple[Party, ...]:
    """`republican:3:1,democrat:8:1:2`: NAME:MEAN:SD[:WEIGHT], normal within the axis; NAME[:WEIGHT] is evenly spread. Errors:
    UserError.

    >>> [party.share for party in parse_parties("a:3:1,b:8:1:2")]
    [1.0, 2.0]
    """
    found = tuple(_party(part) for part in text.split(",")) if text else EVERYBODY
    if len({party.name for party in found}) < len(found):
        raise UserError(f"--parties {text}: a party is named twice")
    return found


def _party(text: str) -> Party:
    name, *rest = text.split(":")
    try:
        numbers = [float(part) for part in rest]
    except ValueError:
        numbers = [math.nan]
    if not name.isidentifier() or len(numbers) > 3 or not all(math.isfinite(number) for number in numbers):
        raise UserError(f"--parties: {text!r} is not NAME, NAME:WEIGHT, NAME:MEAN:SD or NAME:MEAN:SD:WEIGHT")
    share = numbers.pop() if len(numbers) % 2 else 1.0
    if share <= 0 or (numbers and not (AXIS[0] <= numbers[0] <= AXIS[1] and numbers[1] > 0)):
        raise UserError(f"--parties {text}: a mean lies from 0 to 10, a spread and a weight above 0")
    return Party(name, share, _normal(*numbers) if numbers else AXIS)


def _normal(mean: float, spread: float) -> tuple[float, ...]:
    """Quantiles of the normal distribution that is cut off at the ends of the axis."""
    normal = NormalDist(mean, spread)
    low, high = map(normal.cdf, AXIS)
    shares = [low + (high - low) * place / DETAIL for place in range(DETAIL + 1)]
    inner = [normal.inv_cdf(share) if 0 < share < 1 else mean for share in shares[1:-1]]
    ends = [max(AXIS[0], mean - 4 * spread), min(AXIS[1], mean + 4 * spread)]
    return (ends[0], *inner, ends[1])


def seated(parties: tuple[Party, ...], size: int, generator: np.random.Generator) -> Codes:
    """(size,) the place of everybody's party in `parties`: as many of each as its share says, in any order."""
    bounds = np.cumsum([party.share for party in parties]) / sum(party.share for party in parties)
    codes = np.searchsorted(bounds, (np.arange(size) + 0.5) / size)
    return generator.permutation(np.minimum(codes, len(parties) - 1))


def begun(parties: tuple[Party, ...], codes: Codes, generator: np.random.Generator) -> Floats:
    """(n,) where everybody begins."""
    drawn, found = generator.random(len(codes)), np.empty(len(codes))
    for code, party in enumerate(parties):
        mine = codes == code
        found[mine] = np.interp(drawn[mine], np.linspace(0, 1, len(party.starts)), party.starts)
    return found


Build = Callable[[Codes, np.random.Generator, dict[str, float]], csr_array]
GRAPHS: dict[str, tuple[Build, dict[str, float]]] = {
    "random": (lambda who, rng, at: sparse.random_graph(len(who), at["degree"], rng), {"degree": 10}),
    "ring": (lambda who, rng, at: sparse.ring(len(who), at["degree"]), {"degree": 10}),
    "small_world": (
        lambda who, rng, at: sparse.small_world(len(who), at["degree"], at["rewire"], rng),
        {"degree": 10, "rewire": 0.1},
    ),
    "blocks": (
        lambda who, rng, at: sparse.blocks(who, at["degree"], at["homophily"], rng),
        {"degree": 10, "homophily": 0.8},
    ),
    "scale_free": (lambda who, rng, at: sparse.scale_free(len(who), at["degree"], rng), {"degree": 10}),
}
"""How each graph is built of everybody's party, a generator and its options, and the options' defaults."""


def linked(spec: str, members: Codes, generator: np.random.Generator) -> csr_array:
    """The graph of a spec, NAME[,option=value...]. Errors: UserError on an unknown name or option, and on what cannot be
    built."""
    name, *pairs = spec.split(",")
    if name not in GRAPHS:
        raise unknown("graph", name, GRAPHS)
    build, options = GRAPHS[name]
    try:
        return build(members, generator, options | dict(_option(name, pair, options) for pair in pairs))
    except ValueError as error:
        raise UserError(f"graph {name}: {error}") from error


def _option(name: str, pair: str, known: dict[str, float]) -> tuple[str, float]:
    key, _, value = pair.partition("=")
    if key not in known:
        raise unknown(f"option of {name}", key, known)
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UserError(f"option {key} of {name} must be a number: write it as {key}=value")
    return key, found
