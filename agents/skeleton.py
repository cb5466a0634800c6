"""Writes the commented skeleton of a society, a party or another part, and what a new party begins with.

A topic or a set of personas has the parties of the society in whose folder it is written; outside of any, those of `us`.

What a new party begins with: label, first names, side, colour and marker that the other parties of its folder do not use.

The colours are those of Okabe and Ito 2008 (jfly.uni-koeln.de/color), without yellow and black, and six of analysis/figures.py.
Of these the one is taken that is farthest from all colours of the folder, for people with normal colour vision and for those
without red or green cones (simulated after Machado, Oliveira and Fernandes 2009, IEEE TVCG 15(6), Table 1, severity 1.0).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parley.agents.datafiles import HERE, quoted, read_toml, table_rows
from parley.agents.own_topic import FILE as OWN_TOPIC
from parley.agents.own_topic import topic_text
from parley.agents.planted_people import plain_people
from parley.agents.society import DEFAULT, FILE, PARTIES, PEOPLE_TABLE, Society, load_society, society_of
from parley.llm.errors import UserError, unknown_name

SKELETON = HERE / "skeletons"
SOCIETY, PARTY, TOPIC, PERSONAS, STUDY = KINDS = ("society", "party", "topic", "personas", "study")
"""What can be written."""
FILES = (PARTY, TOPIC)
"""Kinds that are a file."""
PEOPLE = 2
"""Personas of a party, so that a room can seat two of them."""
ABOUT_PERSONAS = """# {plural}, in a set of your own: --set personas=FOLDER. The file is named after the party.
# A backstory is the whole system message of an agent, in the second person{words}.
# Write what the person thinks of each topic, such as "You strongly favor a new town library."
# Further keys of a person: gender = "female", or age = 34.

"""


def write_skeleton(kind: str, out: Path, line: str = "") -> Path:
    """Write the skeleton of a kind to a new folder or file, and return it. line: the sentence of a topic (agents/own_topic.py).

    A party gets a label after the name of its file, and first names, colour and marker that its folder does not use.
    Errors: UserError if `out` exists.
    """
    if kind not in KINDS:
        raise unknown_name("skeleton", kind, KINDS)
    if out.exists():
        raise UserError(f"{out} exists already: give another path")
    if line and kind != TOPIC:
        raise UserError(f"--topic only works with `new topic`, not with `new {kind}`: leave out --topic")
    if kind in FILES and out.suffix != ".toml":
        raise UserError(f"a {kind} is a .toml file: write parley new {kind} {out}.toml")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if kind == SOCIETY:
            shutil.copytree(SKELETON / SOCIETY, out)
        elif kind == PARTY:
            draft = draft_party(out, SKELETON / "party.toml", SKELETON / SOCIETY / PARTIES)
            out.write_text(draft, encoding="utf-8")
        elif kind == TOPIC:
            out.write_text(_topic(_society_at(out), line), encoding="utf-8")
        elif kind == STUDY:
            _write_study(out)
        else:
            out.mkdir()
            society = _society_at(out)
            for party in society.parties:
                (out / f"{party}.toml").write_text(_people(society, party), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return out


def _write_study(out: Path) -> None:
    """Write a study that is called as its folder. Errors: UserError for a folder whose name is no name of a command."""
    if not re.fullmatch("[a-z][a-z0-9_]*", out.name):
        raise UserError(
            "a study has the name of its folder, which must consist of small letters: write, for example, parley "
            f"new study {out.with_name('mine')}"
        )
    out.mkdir()
    for path in (SKELETON / STUDY).iterdir():
        text = path.read_text(encoding="utf-8").replace("@name@", out.name)
        (out / path.stem).write_text(text, encoding="utf-8")


def _society_at(path: Path) -> Society:
    return society_of(path) or load_society()


def _topic(society: Society, line: str) -> str:
    """Return the topic of a sentence; without one, an example in the society's language."""
    if line or society.language.code != load_society().language.code:
        return topic_text(line or society.language.data(OWN_TOPIC)["example"], society)
    text = (SKELETON / SOCIETY / "topics" / "library.toml").read_text(encoding="utf-8")
    return text.replace('high_party = "left" ', f"high_party = {quoted(society.debaters[0])} ")


def _people(society: Society, party: str) -> str:
    """Return the file of a party in a set: its first people, in the language of the society."""
    party_data = society.parties[party]
    words = "" if party == DEFAULT or not party_data.words else f", with a word such as {party_data.words[0]}"
    tables = plain_people(party_data.names[:PEOPLE], party_data.person, society.language)
    return ABOUT_PERSONAS.format(plural=society.plural(party), words=words) + table_rows("persona", tables)


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
    names = {name for party in parties for name in (*party.get("names", ()), *_person_names(party))}
    title = out.stem.replace("_", " ").replace("-", " ").title()
    fresh = [name for name in NAMES if name not in names][:MANY]
    values = {
        "code": out.stem,
        "label": f"{title} voter",
        "title": title,
        "word": title.lower(),
        "first": next(iter(fresh), "Kim"),
        "names": ", ".join(map(quoted, fresh)),
        "side": f"{free_side([party['side'] for party in parties if 'side' in party]):g}",
        "colour": free_colour([str(party["colour"]) for party in parties if party.get("colour")]),
        "marker": free_marker([str(party["marker"]) for party in parties if party.get("marker")]),
        "topic": next((topic for party in parties for topic in party.get("positions", ())), "library"),
    }
    return skeleton.read_text(encoding="utf-8").format(**values)


def _parties_of(out: Path, others: Path) -> list[dict[str, Any]]:
    inside = out.parent.name == PARTIES and (out.parent.parent / FILE).is_file()
    return [read_toml(path) for path in sorted((out.parent if inside else others).glob("*.toml"))]


def _person_names(party: dict[str, Any]) -> list[str]:
    return [str(person["name"]) for person in party.get(PEOPLE_TABLE, ()) if "name" in person]


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


def colour_distance(colour: str, other: str) -> float:
    """Return the smallest distance of two colours (CIE 1976, ΔE) over normal vision, without red cones, without green ones."""
    return float(np.min(np.linalg.norm(_lab(colour) - _lab(other), axis=1)))


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
