"""A sweep in Python: the sweep of the command, as an object."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from matplotlib.figure import Figure

import parley
import run as command_line

SMALL: dict[str, Any] = {"llm": "oracle", "topic": "racism", "repetitions": 2}
WORDS = "sweep --scenario two_way --llm oracle --topic racism --repetitions 2 --vary rounds=1,2 --seeds 0:2 --workers 1"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> parley.Sweep:
    folder = tmp_path_factory.mktemp("sweeps") / "a"
    return parley.sweep("two_way", vary={"rounds": [1, 2]}, seeds=range(2), workers=1, out=folder, **SMALL)


@pytest.mark.thorough
def test_it_is_the_sweep_of_the_command(found: parley.Sweep, tmp_path: Path) -> None:
    """Byte for byte, and the command goes on with what the function began."""
    assert command_line.main([*WORDS.split(), "--out", str(tmp_path / "b")]) == 0
    for name in ("cells.csv", "changes.csv", "effects.csv", "sweep.json", "figures/change.png"):
        assert (found.folder / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert command_line.main([*WORDS.split(), "--out", str(found.folder)]) == 0


def test_two_seeds_give_no_verdict(found: parley.Sweep) -> None:
    """Below five seeds there is no interval: the ends are missing, not numbers."""
    assert set(found.effects["seeds"]) == {2}
    assert found.effects[["change_low", "change_high", "difference_low", "difference_high"]].isna().all(axis=None)
    assert "nothing can be concluded" in found.summary


def test_what_a_sweep_shows(found: parley.Sweep, tmp_path: Path) -> None:
    assert set(found.cells["rounds"]) == {1, 2}
    assert found.pairs.empty
    assert found.plots == ["change"]
    assert isinstance(found.plot("change"), Figure)
    with pytest.raises(parley.UserError, match="unknown figure 'chang': did you mean change"):
        found.plot("chang")
    assert "<h1" in found.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert repr(found) == f"<Sweep of 4 cells in {found.folder}>"
    assert "change_low" in found._repr_html_()
    one = parley.load(found.folder / found.cells["folder"][0])
    assert one.tables.finished
    with pytest.raises(parley.UserError, match=r"is not the folder of a single run: open it with parley\.Sweep"):
        parley.load(found.folder)


def test_a_sweep_of_which_nothing_is_rated_draws_nothing(tmp_path: Path) -> None:
    """Two surveys are needed for a change; with none there is no effect, and no figure of nothing."""
    found = parley.sweep("two_way", seeds=[1], workers=1, out=tmp_path / "n", rounds=1, survey="never", **SMALL)
    assert found.effects.empty
    assert found.cells["attitude"].isna().all()
    with pytest.raises(parley.UserError, match="no figure can be drawn"):
        found.plot()
    assert "1 cell without a rating" in found._repr_html_()


def test_a_sweep_on_a_graph(tmp_path: Path) -> None:
    """Every cell has the graph in its folder."""
    found = parley.sweep(
        "network", seeds=[1], workers=1, out=tmp_path / "g", rounds=1, reference="", topology=nx.path_graph(4), **SMALL
    )
    graph = parley.load(found.folder / found.cells["folder"][0]).topology
    assert graph is not None
    assert nx.is_isomorphic(graph, nx.path_graph(4))


def test_a_sweep_over_graphs_need_not_fit_the_graph_of_the_preset(tmp_path: Path) -> None:
    """8 people are too few for the block model of the preset, which no cell has. The header names what was given alone."""
    small = {"seeds": [1], "workers": 1, "rounds": 0, "size": 8, **SMALL}
    found = parley.sweep("network", vary={"graph": ["ring", "complete"]}, out=tmp_path / "g", **small)
    assert sorted(found.cells["graph"].unique()) == ["complete", "ring"]
    header = parley.load(found.folder / found.cells["folder"][0]).tables.header
    assert {"graph", "size"} <= set(header.given)
    assert "rule" not in header.given


AGENTS = """import parley

class Contrarian(parley.Agent):
    def instruction(self, form):
        return super().instruction(form) + " Disagree."
"""


def test_a_sweep_of_agents_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell has the class, by whichever process it is run; the same folder is not gone on with by other agents."""
    (tmp_path / "my_contrarians.py").write_text(AGENTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = importlib.import_module("my_contrarians").Contrarian
    asked = {"seeds": [1], "workers": 1, "out": tmp_path / "c", "rounds": 1, **SMALL}
    found = parley.sweep("two_way", agent_class={"republican": kind}, **asked)
    header = parley.load(found.folder / found.cells["folder"][0]).tables.header
    assert header.scenario["agent_class"] == ["republican:my_contrarians.Contrarian"]
    assert "agent_class" in header.given
    with pytest.raises(parley.UserError, match="a sweep of another scenario or with other settings"):
        parley.sweep("two_way", **asked)


def test_agents_that_no_other_process_can_import_are_refused(tmp_path: Path) -> None:
    class Here(parley.Agent):
        pass

    with pytest.raises(parley.UserError, match="write the class into a file such as my_agents"):
        parley.sweep("two_way", agent_class=Here, seeds=[1], out=tmp_path / "c", **SMALL)


@pytest.mark.thorough
def test_a_script_without_a_guard_sweeps_once(tmp_path: Path) -> None:
    """Workers do not import the script that started them; a script of a user's has no `if __name__ == "__main__"`."""
    call = f'parley.sweep("two_way", seeds=[1], workers=1, out="s", rounds=0, **{SMALL!r})'
    (tmp_path / "mine.py").write_text(f"import parley\nprint('once')\nprint({call})\n", encoding="utf-8")
    where = Path(parley.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={"PYTHONPATH": str(where), "PATH": "", "MPLBACKEND": "agg", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "once\n<Sweep of 1 cell in s>\n"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"seeds": []}, "at least one seed is needed"),
        ({"seeds": [1, 1]}, "a seed is given twice"),
        ({"seed": 3}, "a sweep takes its seeds from the argument seeds"),
        ({"vary": {"rounds": []}}, "vary rounds: at least one value is needed"),
        ({"vary": {"llm": ["oracle"]}}, "llm is both in vary and set"),
        ({"vary": {"rouds": [1]}}, "unknown field 'rouds'"),
        ({"workers": 0}, "workers is 0, but must be at least 1"),
    ],
)
def test_what_is_no_sweep_is_told(wrong: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(parley.UserError, match=says):
        parley.sweep("two_way", out=tmp_path / "x", **{**SMALL, **wrong})
    assert not (tmp_path / "x").exists()
    with pytest.raises(parley.UserError, match="has no finished sweep"):
        parley.Sweep(tmp_path / "x")
