"""What a new party begins with: label, first names, side, colour and marker that the other parties of its folder do not use.

The colours are those of Okabe and Ito 2008 (jfly.uni-koeln.de/color), without yellow and black, and six of analysis/figures.py.
Of these the one is taken that is farthest from all colours of the folder, for people with normal colour vision and for those
without red or green cones (simulated after Machado, Oliveira and Fernandes 2009, IEEE TVCG 15(6), Table 1, severity 1.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parley.agents.datafiles import quoted, read_toml
from parley.agents.society import FILE, PARTIES, PEOPLE_TABLE

COLOURS = (
    "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#e69f00", "#56b4e9",
    "#13aab5", "#811564", "#78a35f", "#410591", "#431903", "#0b232c",
)  # fmt: skip
MARKERS = "^DvPXph*<>8dos"
NAMES = (
    "Pia", "Quentin", "Rosa", "Simon", "Tilda", "Ugo", "Vera", "Willem", "Xenia", "Yusuf", "Zita", "Arvid",
    "Brigid", "Cosmo", "Delia", "Enzo", "Farah", "Gideon", "Hedda", "Ivo", "Jelena", "Kamil", "Livia",
    "Milan", "Nora", "Orson", "Paola", "Ravi", "Selma", "Tobias", "Una", "Viktor", "Wanda", "Yannis", "Zelda",
    "Anselm", "Blanca", "Corin", "Dunja", "Emil",
)  # fmt: skip
MANY = 4
"""First names of a new party."""
VISION = np.array([
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
])  # fmt: skip
"""Normal vision, without red cones, without green cones: matrices of linear RGB."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def draft_party(out: Path, skeleton: Path, others: Path) -> str:
    """Return the text of a new party. out: its file, named after its code; others: the folder of parties without a society.

    Errors: UserError if a party of the folder is broken.
    """
    parties = _parties_of(out, others)
    names = {name for one in parties for name in (*one.get("names", ()), *_people(one))}
    title = out.stem.replace("_", " ").replace("-", " ").title()
    fresh = [name for name in NAMES if name not in names][:MANY]
    values = {
        "code": out.stem,
        "label": f"{title} voter",
        "title": title,
        "word": title.lower(),
        "first": next(iter(fresh), "Kim"),
        "names": ", ".join(map(quoted, fresh)),
        "side": f"{free_side([one['side'] for one in parties if 'side' in one]):g}",
        "colour": free_colour([str(one["colour"]) for one in parties if one.get("colour")]),
        "marker": free_marker([str(one["marker"]) for one in parties if one.get("marker")]),
        "topic": next((topic for one in parties for topic in one.get("positions", ())), "library"),
    }
    return skeleton.read_text(encoding="utf-8").format(**values)


def _parties_of(out: Path, others: Path) -> list[dict[str, Any]]:
    inside = out.parent.name == PARTIES and (out.parent.parent / FILE).is_file()
    return [read_toml(path) for path in sorted((out.parent if inside else others).glob("*.toml"))]


def _people(party: dict[str, Any]) -> list[str]:
    return [str(one["name"]) for one in party.get(PEOPLE_TABLE, ()) if "name" in one]


def free_side(sides: Iterable[float]) -> float:
    """Return the middle of the widest gap between sides, from -1 (left) to 1 (right).

    >>> free_side([-0.5, 0.5]), free_side([])
    (0.0, 0.0)
    """
    ends = sorted({-1.0, 1.0, *map(float, sides)})
    low, high = max(pairwise(ends), key=lambda gap: round(gap[1] - gap[0], 6))
    return round((low + high) / 2, 2)


def free_colour(used: Sequence[str]) -> str:
    """Return the colour of `COLOURS` that is farthest from all used ones (#rrggbb) for the kind of vision that sees least.

    >>> free_colour(["#1f5fa8", "#c1272d"])
    '#e69f00'
    """
    return max(COLOURS, key=lambda colour: min((colour_distance(colour, other) for other in used), default=0.0))


def colour_distance(one: str, other: str) -> float:
    """Return the smallest distance of two colours (CIE 1976, ΔE) over normal vision, without red cones, without green ones."""
    return float(np.min(np.linalg.norm(_lab(one) - _lab(other), axis=1)))


def _lab(colour: str) -> NDArray[np.float64]:
    """Return (3, 3): L*, a*, b* of a colour for each kind of vision."""
    coded = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(VISION @ linear, 0, 1) @ TO_XYZ.T / WHITE
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = root.T
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=1)


def free_marker(used: Sequence[str]) -> str:
    """Return the first marker that no party has for its first seat.

    >>> free_marker(["o", "s^DP", "^"])
    'D'
    """
    taken = {marker[:1] for marker in used}
    return next((marker for marker in MARKERS if marker not in taken), MARKERS[0])
