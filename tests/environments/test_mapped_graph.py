"""Graphs that stay on the disk: the same graph as from the table, mapped and not copied, and wrong folders are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_checks import check_each
from scipy.sparse import csr_array, save_npz

from parley.environments import sparse_graphs
from parley.environments.graph_files import read_table
from parley.environments.mapped_graph import digest_of, mapped_table, open_graph, save_graph
from parley.llm.errors import UserError
from parley.model.population import PopulationModel

LINKS = "source,target\nzoe,adam\nadam,ines\nines,bo\nzoe,adam\n"


def mapped_file(array: Any) -> Any:
    """The memory map that an array is a view of; None if it has memory of its own."""
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array


def test_a_table_is_made_into_a_folder_by_hand(tmp_path: Path) -> None:
    """Three links among four people, one of them listed twice: both hear each other, in the order of their names in the file."""
    path = tmp_path / "friends.csv"
    path.write_text(LINKS)
    graph = mapped_table(str(path))
    folder = tmp_path / "friends.csv.graph"
    assert graph.names == ["zoe", "adam", "ines", "bo"]
    assert np.load(folder / "starts.npy").tolist() == [0, 1, 3, 5, 6]
    assert np.load(folder / "heard.npy").tolist() == [1, 0, 2, 1, 3, 2]
    assert sorted(file.name for file in folder.iterdir()) == ["graph.json", "heard.npy", "names.parquet", "starts.npy"]
    assert graph.array().toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]


def test_links_are_mapped_and_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the file to the law nothing has a second copy of the links, and the model writes nothing into the file."""
    monkeypatch.setattr(sparse_graphs, "SHARED", 1)
    save_graph(csr_array(np.eye(4, k=1) + np.eye(4, k=-1)), tmp_path / "chain.graph")
    before = digest_of(tmp_path / "chain.graph" / "heard.npy")
    model = PopulationModel("degroot", f"file,path={tmp_path / 'chain.graph'}", agents=4, steps=3, rng=1)
    model.run()
    assert mapped_file(model.graph.indices) is not None
    assert mapped_file(model.graph.indptr) is not None
    assert model.graph.data.strides == (0,)
    assert digest_of(tmp_path / "chain.graph" / "heard.npy") == before


CONTENTS = {
    "a.csv": LINKS,
    "b.csv": "source,target,weight,sign\n7,x,2,1\nx,9,0.5,-1\n9,7,1,1\n",
    "c.txt": "0 1\n1 2\n2 3\n",
}


@check_each("file", [*CONTENTS, "d.npz"])
def test_mapped_is_unmapped(tmp_path: Path, file: str) -> None:
    """The same links, weights, signs and names, and the same opinions after three steps."""
    path = tmp_path / file
    if file in CONTENTS:
        path.write_text(CONTENTS[file])
    else:
        save_npz(path, csr_array(np.array([[0, 2.0, 0], [0, 0, 1], [1, 0, 0]])))
    for options in ("", ",directed=true"):
        law = "altafini" if file == "b.csv" else "degroot"
        size = len(read_table(str(path)) or ())
        models = [
            PopulationModel(law, f"file,path={path}{options}{more}", agents=size, steps=3, rng=1)
            for more in ("", ",mapped=true")
        ]
        plain, mapped = models
        assert plain.graph.toarray().tolist() == mapped.graph.toarray().tolist()
        assert mapped.nodes == (plain.nodes if file.endswith("csv") else [])
        for model in models:
            model.run()
        assert plain.opinions.tobytes() == mapped.opinions.tobytes()


def test_a_changed_table_is_read_again(tmp_path: Path) -> None:
    """A folder is kept as long as its table and the options are the same."""
    path = tmp_path / "friends.txt"
    path.write_text("0 1\n1 2\n")
    header = tmp_path / "friends.txt.graph" / "graph.json"
    mapped_table(str(path))
    made = header.stat().st_mtime_ns
    assert mapped_table(str(path)).links.nnz == 4
    assert header.stat().st_mtime_ns == made
    assert mapped_table(str(path), directed=True).links.nnz == 2
    path.write_text("0 1\n1 2\n2 3\n")
    assert mapped_table(str(path)).links.nnz == 6
    assert len(list(tmp_path.iterdir())) == 2  # nothing partial


def write_array(name: str, values: Any) -> Callable[[Path], None]:
    """Return what replaces an array and its digest in the header, as someone who makes a bad folder on purpose would."""

    def change(folder: Path) -> None:
        np.save(folder / name, values, allow_pickle=True)
        header = json.loads((folder / "graph.json").read_text())
        header["files"][name] = digest_of(folder / name)
        (folder / "graph.json").write_text(json.dumps(header))

    return change


def write_header(**changed: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        header = json.loads((folder / "graph.json").read_text()) | changed
        (folder / "graph.json").write_text(json.dumps(header))

    return change


INT = np.int32
WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "another byte": (lambda folder: np.save(folder / "heard.npy", INT([1, 0, 2, 0])), "was changed after it was written"),
    "out of range": (write_array("heard.npy", INT([1, 0, 2, 3])), "names nodes outside 0 to 2"),
    "below 0": (write_array("heard.npy", INT([1, 0, 2, -1])), "names nodes outside 0 to 2"),
    "falling": (write_array("starts.npy", INT([0, 3, 1, 4])), "does not rise from 0 to 4"),
    "too far": (write_array("starts.npy", INT([0, 1, 3, 5])), "does not rise from 0 to 4"),
    "longer numbers": (write_array("heard.npy", np.array([1, 0, 2, 1])), r"holds int64 \(4,\), not int32 \(4,\)"),
    "too short": (write_array("heard.npy", INT([1, 0, 2])), r"holds int32 \(3,\), not int32 \(4,\)"),
    "objects": (write_array("heard.npy", np.array([1, 0, 2, print], dtype=object)), "Python objects|object"),
    "weights": (write_array("weights.npy", np.array([1, 0, np.nan, 1.0])), "a weight is 0 or not a number"),
    "cut off": (lambda folder: (folder / "heard.npy").write_bytes(b"\x93NUM"), "was changed"),
    "another file": (write_header(files={"../a": "", "starts.npy": "", "heard.npy": ""}), "not the folder of a mapped graph"),
    "another format": (write_header(format=2), "not the folder of a mapped graph"),
    "nodes": (write_header(nodes=True), "not the folder of a mapped graph"),
    "no header": (lambda folder: (folder / "graph.json").unlink(), "not the folder of a mapped graph"),
    "deep": (lambda folder: (folder / "graph.json").write_text("[" * 60000), "not the folder of a mapped graph"),
}  # fmt: skip


@check_each("wrong", list(WRONG))
def test_wrong_folders_are_refused_in_a_line(tmp_path: Path, wrong: str) -> None:
    """A folder of another, also one with right digests, is refused before a law reads a link."""
    folder = tmp_path / wrong / "chain.graph"
    folder.parent.mkdir()
    save_graph(csr_array(np.eye(3, k=1) + np.eye(3, k=-1)), folder)
    assert len(open_graph(folder)) == 3
    change, told = WRONG[wrong]
    change(folder)
    with pytest.raises(UserError, match=told) as error:
        PopulationModel("degroot", f"file,path={folder}", agents=3)
    assert "\n" not in str(error.value)


@check_each(
    ("spec", "told"),
    [
        ("a.csv,mapped=true", "links have rounds"),
        ("b.graphml,mapped=true", "only works with tables of links"),
        ("c.txt,mapped=true,node_file=a.csv", "leave out names and node_file"),
        ("c.txt,mapped=true", "c.txt.graph is not the folder of a mapped graph"),
        ("missing.csv,mapped=true", "cannot read"),
    ],
)
def test_what_cannot_be_mapped_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, told: str) -> None:
    """Links with rounds, attributes of nodes, and a folder that holds something else, which is kept."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("source,target,start\nx,y,1\n")
    Path("b.graphml").write_text("")
    Path("c.txt").write_text("0 1\n")
    Path("c.txt.graph").mkdir(exist_ok=True)
    Path("c.txt.graph/mine.txt").write_text("kept")
    with pytest.raises(UserError, match=told):
        PopulationModel("degroot", f"file,path={spec}", agents=2)
    assert Path("c.txt.graph/mine.txt").read_text() == "kept"
