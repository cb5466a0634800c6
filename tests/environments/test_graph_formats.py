"""Every format of a graph file gives the same graph, and every fault of a file is one line that says what to do."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_checks import check_each
from scipy import sparse

from parley.environments import edge_columns
from parley.environments.graph_files import ENDINGS, read_graph, read_nodes, read_table
from parley.environments.graphs import GRAPHS, File
from parley.environments.sparse_graphs import from_networkx

NAMES = ("alice", "bob", "cem", "dora")
PLAIN = nx.path_graph(NAMES)


def marked() -> nx.DiGraph:
    """Two links with all attributes that a link may have."""
    graph = nx.DiGraph()
    graph.add_nodes_from((name, {"party": "cdu"}) for name in NAMES)
    graph.add_edge("alice", "bob", weight=2.5, sign=-1, start=2, end=3)
    graph.add_edge("cem", "dora", weight=1.0, sign=1)
    return graph


def write_text(text: str) -> Callable[[nx.Graph, Path], object]:
    return lambda graph, path: path.write_text(text)


@check_each(
    ("ending", "write"),
    [
        (".graphml", nx.write_graphml),
        (".gexf", nx.write_gexf),
        (".adjlist", nx.write_adjlist),
        (".edgelist", nx.write_edgelist),
        (".txt", write_text("alice bob\nbob\tcem\n# a comment\n\n  cem   dora  # Ulm\r\n")),
        (".edges", write_text("source target\nalice bob\nbob cem\ncem dora\n")),
        ("", write_text("alice bob\nbob cem\ncem dora\ndora cem\n")),
        (".csv", write_text("source,target\nalice,bob\nbob,cem\ncem,dora\n")),
        (".CSV", write_text('\ufeffSource;Target\nalice;"bob"\nbob;cem\ncem;dora\n')),
        (".tsv", write_text("target\tsource\nbob\talice\ncem\tbob\ndora\tcem\n")),
    ],
)
def test_every_format_gives_the_same_graph(
    tmp_path: Path, ending: str, write: Callable[[nx.Graph, Path], object]
) -> None:
    """A chain of four: the same names in the same order, the same links. A shuffled chain is another graph."""
    path = tmp_path / f"net{ending}"
    write(PLAIN, path)
    graph = read_graph(str(path))
    assert list(graph) == list(NAMES)
    assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(PLAIN.edges))
    shuffled = nx.relabel_nodes(PLAIN, dict(zip(NAMES, ("bob", "dora", "alice", "cem"), strict=True)))
    assert not nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(shuffled.edges))


@check_each(
    ("ending", "write"),
    [
        (".graphml", nx.write_graphml),
        (".gexf", nx.write_gexf),
        (".csv", write_text("source,target,weight,sign,start,end\nalice,bob,2.5,-1,2,3\ncem,dora,1,1,,\n")),
        (".txt", write_text("source target weight sign start end\nalice bob 2.5 -1 2 3\ncem dora 1 1 0 9\n")),
    ],
)
def test_links_keep_weight_sign_and_rounds(
    tmp_path: Path, ending: str, write: Callable[[nx.Graph, Path], object]
) -> None:
    write(marked(), tmp_path / f"net{ending}")
    graph = read_graph(str(tmp_path / f"net{ending}"), directed=True)
    assert graph.is_directed()
    assert graph.edges["alice", "bob"] == {"weight": 2.5, "sign": -1, "start": 2, "end": 3}
    assert graph.edges["cem", "dora"].items() >= {"weight": 1.0, "sign": 1}.items()


def test_spaces_around_a_name_are_not_part_of_it(tmp_path: Path) -> None:
    """A triangle written with a space after each comma was six people in three pairs; empty cells stay missing."""
    path = tmp_path / "net.csv"
    path.write_text("source, target , weight\na, b , 2\nb, c, \nc,\ta,1\n")
    graph = read_graph(str(path))
    assert sorted(graph.edges(data="weight")) == [("a", "b", 2.0), ("a", "c", 1.0), ("b", "c", None)]
    path.write_text("source, target\na, b\nb,  \n")
    with pytest.raises(ValueError, match="row 3: a line has no target"):
        read_graph(str(path))


@check_each("end", ["\r", "\r\n"])
def test_every_line_end_parts_lines(tmp_path: Path, end: str) -> None:
    """Old spreadsheets end lines with a carriage return alone, which stopped Parley with a traceback."""
    for name, lines in (("net.csv", ["source,target", "a,b", "b,c"]), ("net.txt", ["a b", "b c"])):
        (tmp_path / name).write_bytes((end.join(lines) + end).encode())
        (tmp_path / "people.csv").write_bytes(end.join(["node,party", "a,cdu", "b,spd", "c,spd"]).encode())
        graph = read_graph(str(tmp_path / name), node_file=str(tmp_path / "people.csv"))
        assert list(graph.edges) == [("a", "b"), ("b", "c")]
        assert list(graph.nodes(data="party")) == [("a", "cdu"), ("b", "spd"), ("c", "spd")]


def test_a_packed_table_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "net.csv.gz").write_bytes(gzip.compress(b"source,target\na,b\n"))
    assert list(read_graph(str(tmp_path / "net.csv.gz")).edges) == [("a", "b")]


def test_a_matrix_says_whom_each_row_hears(tmp_path: Path) -> None:
    """0 hears 1 with weight 2; 2 is hostile to 0; 3 has no link and is a node all the same."""
    matrix = sparse.csr_array(([2.0, -0.5], ([0, 2], [1, 0])), shape=(4, 4))
    sparse.save_npz(tmp_path / "net.npz", matrix)
    graph = read_graph(str(tmp_path / "net.npz"))
    assert list(graph) == ["0", "1", "2", "3"]
    assert sorted(graph.edges(data=True)) == [
        ("0", "1", {"weight": 2.0, "sign": 1}),
        ("2", "0", {"weight": 0.5, "sign": -1}),
    ]
    sparse.save_npz(tmp_path / "ones.npz", sparse.csr_array(np.eye(3, k=1)))
    assert list(read_graph(str(tmp_path / "ones.npz")).edges(data=True)) == [("0", "1", {}), ("1", "2", {})]


def test_gexf_of_gephi_keeps_ids_and_periods(tmp_path: Path) -> None:
    """Ids stay the names, labels are an attribute; version 1.3 is read, and a link may exist in several periods."""
    (tmp_path / "net.gexf").write_text(
        '<?xml version="1.0"?><gexf xmlns="http://gexf.net/1.3" version="1.3">'
        '<graph defaultedgetype="directed" mode="dynamic" timeformat="integer"><nodes>'
        '<node id="n0" label="Alice"/><node id="n1" label="Bob"/></nodes><edges>'
        '<edge id="0" source="n0" target="n1" weight="2"><spells><spell start="1" end="2"/><spell start="5"/></spells>'
        "</edge></edges></graph></gexf>"
    )
    graph = read_graph(str(tmp_path / "net.gexf"))
    assert dict(graph.nodes(data="label")) == {"n0": "Alice", "n1": "Bob"}
    assert graph.edges["n0", "n1"] == {"weight": 2.0, "spells": "1-2 5-"}


def test_a_table_of_nodes_gives_attributes(tmp_path: Path) -> None:
    """An edge list has none of its own; a node without links is one of the table."""
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    (tmp_path / "people.csv").write_text("node,party,attitude,zip\nb,spd,2.5,01067\na,cdu,7,\nc,spd,0,\n")
    graph = File(str(tmp_path / "net.csv"), node_file=str(tmp_path / "people.csv"))
    assert list(graph.read().nodes(data=True)) == [
        ("a", {"party": "cdu", "attitude": 7}),
        ("b", {"party": "spd", "attitude": 2.5, "zip": "01067"}),
        ("c", {"party": "spd", "attitude": 0}),
    ]
    assert graph.people == (("cdu", ""), ("spd", ""), ("spd", ""))
    table = graph.table()
    assert table is not None
    assert (table.names, table.nodes["b"]["attitude"]) == (["a", "b", "c"], 2.5)


def test_columns_of_people_are_known_with_spaces_and_capitals(tmp_path: Path) -> None:
    """` Party` was an attribute that nobody read, so the people of the network got other parties than their own."""
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    (tmp_path / "people.csv").write_text("Node, Party , Town\na , cdu, Ulm\nb, spd,\n")
    graph = File(str(tmp_path / "net.csv"), node_file=str(tmp_path / "people.csv"))
    assert graph.people == (("cdu", ""), ("spd", ""))
    assert list(graph.read().nodes(data=True)) == [("a", {"party": "cdu", "Town": "Ulm"}), ("b", {"party": "spd"})]


def test_a_long_text_of_a_person_is_read_whole(tmp_path: Path) -> None:
    """What a person wrote before may be longer than the limit of Python's csv module, and may have lines and commas."""
    history = "I wrote, once,\nthis. " * 10_000
    (tmp_path / "people.csv").write_text(f'node,history\na,"{history}"\n')
    assert read_nodes(str(tmp_path / "people.csv")) == {"a": {"history": history.strip()}}


TWICE = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><node id="a"/><node id="a"/></graph></graphml>'


@check_each(
    ("name", "text", "words"),
    [
        ("net.csv", "who,whom\na,b\n", r"must name the columns.*add columns=\(THEIRS:source,THEIRS:target\)"),
        (
            "net.csv",
            "source,target,wieght\na,b,1\n",
            "unknown column 'wieght'. Parley reads the columns source, target, weight",
        ),
        ("net.csv", "source,target,weight\na,b,much\n", "row 2: the weight 'much' is not a number"),
        ("net.csv", "source,target,weight\na,b,0\n", "weight is 0.0, but must be a number above 0"),
        ("net.csv", "source,target,weight\na,b,-1\n", "sign=-1 marks a hostile link"),
        ("net.csv", "source,target,sign\na,b,0\n", "sign is 0, but must be 1 or -1"),
        (
            "net.csv",
            "source,target,start\na,b,1.5\n",
            "the link of a and b: start is .*, but must be the number of a round",
        ),
        ("net.csv", "source,target,start,end\na,b,3,2\n", "its end, 2, is before its start, 3"),
        ("net.csv", "source,target,weight\na,b,1\na,b,2\n", "listed with several values of weight: keep one"),
        ("net.csv", "source,target\na\n", "net.csv, row 2: it has 1 values"),
        ("net.csv", "source,target\na,\n", "row 2: a line has no target"),
        ("net.csv", "source,target\na,b\nb,b\n", "b is linked with itself: remove this link"),
        ("net.csv", "source,source,target\na,a,b\n", "a column is named twice"),
        ("net.csv", "", "is empty"),
        ("net.csv", "source,target\n", "it has no nodes, but it needs a node for each person"),
        ("net.csv", "source,target\na,b\x07\n", "which graph files cannot contain: remove it"),
        ("net.csv", "x" * 200_000, "its first row must name the columns"),
        ("net.txt", "a\n", "is not two names with a space between them"),
        ("net.txt", "a b 1 2\n", "more than two names and a weight: write a first line such as"),
        ("net.adjlist", "a b\na c\n", "two nodes are called 'a'"),
        ("net.graphml", TWICE, "two nodes are called 'a': give each node a different name"),
        ("net.graphml", "<graphml", "is not a readable graph file"),
        ("net.gexf", "<gexf/>", "is not a readable graph file: No <graph> element"),
        ("net.npz", "a b", "is not a matrix that scipy.sparse.save_npz wrote"),
        ("net.net", "*Vertices 2", "is not a whole Pajek file"),
        ("net.net", "*Arcs\n1 2 1\n", "is not a whole Pajek file"),
        ("net.gml", "graph [", "is not a readable graph file"),
        ("net.ncol", "a b", "unknown ending .ncol: use .graphml, .gexf"),
    ],
)
def test_a_fault_is_one_line_that_names_the_file(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        GRAPHS.get(f"file,path={tmp_path / name}").read()
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


@check_each(
    ("people", "words"),
    [
        ("name,party\na,cdu\n", "people.csv: it has no column node"),
        ("node,party\na,cdu\na,spd\n", "two nodes are called 'a'"),
        ("node,party\na,cdu\na ,spd\n", "two nodes are called 'a'"),
        ("node,party,Party\na,cdu,spd\n", "people.csv: a column is named twice: remove one"),
        ("node,party,\na,cdu,spd\n", "people.csv, row 2: it has 3 values, but the header names 2 columns"),
        ("node,party\n,cdu\n", "people.csv: a line has no value in the column `node`"),
        ("node,history\na,I wrote\x0b this.\n", r"people.csv: 'I wrote\\x0b this.' has the character '\\x0b'"),
        ("node,attitude\na,3\n", "node b has no attitude; give all nodes the attribute attitude, or none"),
        ("node,attitude\na,3\nb,11\n", "node b has the attitude 11: give a number from 0 to 10"),
        ("node,attitude\na,3\nb,low\n", "node b has the attitude 'low'"),
    ],
)
def test_a_fault_of_the_table_of_nodes_is_one_line(tmp_path: Path, people: str, words: str) -> None:
    (tmp_path / "net.csv").write_text("source,target\na,b\n")
    (tmp_path / "people.csv").write_text(people)
    with pytest.raises(ValueError, match=words):
        File(str(tmp_path / "net.csv"), node_file=str(tmp_path / "people.csv")).read()
    with pytest.raises(ValueError, match=r"cannot read .*none\.csv: No such file"):
        File(str(tmp_path / "net.csv"), node_file=str(tmp_path / "none.csv")).read()


@check_each("directed", [True, False])
def test_the_columns_give_the_array_of_the_graph(tmp_path: Path, directed: bool) -> None:
    """The path without networkx, for a million nodes, gives what networkx gives; a link listed twice counts once."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 30, size=(200, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    weights = 1 + ends.min(axis=1) * 30 + ends.max(axis=1)
    (tmp_path / "net.txt").write_text("".join(f"p{a} p{b} {w}\n" for (a, b), w in zip(ends, weights, strict=True)))
    table = read_table(str(tmp_path / "net.txt"), directed)
    assert table is not None
    graph = read_graph(str(tmp_path / "net.txt"), directed)
    assert table.names == list(graph)
    expected = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    assert (table.array() != expected).nnz == 0
    assert table.array().sum() == expected.sum()
    assert table.array().indices.dtype == np.int32


@check_each(
    ("text", "words"),
    [
        ("source,target,sign\na,b,-2\n", "the sign of a link must be 1 or -1"),
        ("source,target,weight\na,b,1\nb,a,2\n", "a link is listed with several weights"),
        ("source,target,sign\na,b,1\nb,a,-1\n", "a link is listed with several weights or signs"),
        ("source,target,weight\na,b,-1\n", "the weight of a link must be a number above 0"),
    ],
)
def test_what_no_population_can_follow_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "net.csv").write_text(text)
    table = read_table(str(tmp_path / "net.csv"))
    assert table is not None
    with pytest.raises(ValueError, match=words):
        table.array()


def test_a_hostile_link_is_below_zero_in_an_array(tmp_path: Path) -> None:
    """By hand: a and b are foes, b and c friends with weight 3; both ways, as the list is undirected."""
    (tmp_path / "net.csv").write_text("source,target,weight,sign\na,b,2,-1\nb,c,3,\n")
    table = read_table(str(tmp_path / "net.csv"))
    assert table is not None
    expected = [[0, -2, 0], [-2, 0, 3], [0, 3, 0]]
    assert table.array().toarray().tolist() == expected
    assert from_networkx(table.graph()).toarray().tolist() == expected


def test_the_manual_names_every_ending() -> None:
    """docs/networks.md lists what can be read."""
    page = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")
    assert all(f"`{ending}`" in page for ending in ENDINGS if ending)


KRACKHARDT = nx.DiGraph([("Łukasz", "bo"), ("bo", "cy")])
PAJEK = '*Vertices 3\n1 "Łukasz"\n2 "bo"\n3 "cy"\n*Arcs\n1 2 1\n2 3 1\n'
GML = (
    "graph [ directed 1\n"
    + "".join(f' node [ id {n}\n label "{name}" ]\n' for n, name in enumerate(KRACKHARDT))
    + (" edge [ source 0\n target 1 ]\n edge [ source 1\n target 2 ] ]\n")
)


@check_each(
    ("name", "text", "options"),
    [
        ("gephi.csv", "Source,Target,Type,Id,Label,timeset,Weight\nŁukasz,bo,Directed,0,,,1.0\nbo,cy,Directed,1,,,1.0\n", ""),
        ("from.csv", "from,to\nŁukasz,bo\nbo,cy\n", "directed=true"),
        ("frame.csv", ",from,to\n1,Łukasz,bo\n2,bo,cy\n", "directed=true"),
        ("snap.csv", "SOURCE,TARGET,TIME\nŁukasz,bo,12.5\nbo,cy,1\n", "directed=true,columns=(SOURCE:source,TARGET:target)"),
        ("bare.csv", "Łukasz;bo;4\nbo;cy;2\n", "directed=true,columns=(1:source,2:target)"),
        ("matrix.csv", ",Łukasz,bo,cy\nŁukasz,0,1,0\nbo,0,0,1\ncy,0,0,0\n", ""),
        ("list.adjlist", "Łukasz,bo\nbo,cy\n", "directed=true"),
        ("pajek.net", PAJEK, ""),
        ("graph.gml", GML, ""),
    ],
)  # fmt: skip
def test_files_of_common_programs_are_read_as_they_are(tmp_path: Path, name: str, text: str, options: str) -> None:
    """Gephi, R, SNAP, Pajek and matrices: the same three people, whom each hears, and their names."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    graph = GRAPHS.get(",".join(filter(None, [f"file,path={tmp_path / name}", options]))).read()
    assert list(graph) == list(KRACKHARDT)
    assert nx.utils.graphs_equal(nx.DiGraph(graph.edges), KRACKHARDT)


def test_a_signed_network_has_signs_and_weights(tmp_path: Path) -> None:
    """A rating of -3 is a hostile link of weight 3; without the option, a column that is nothing of a link is refused."""
    (tmp_path / "trust.csv").write_text("6,2,4,1289241911.7\n6,3,-3,1289241941.5\n")
    graph = GRAPHS.get(f"file,path={tmp_path}/trust.csv,columns=(1:source,2:target,3:rating)").read()
    assert {(a, b): (data["weight"], data["sign"]) for a, b, data in graph.edges(data=True)} == {
        ("6", "2"): (4, 1), ("6", "3"): (3, -1),
    }  # fmt: skip
    for options, words in {
        "": "must name the columns",
        ",columns=(1:source,9:target)": "unknown column",
        ",columns=(1:source,2:goal)": "unknown column",
        ",columns=(1:source)": "for source and target, as in",
    }.items():
        with pytest.raises(ValueError, match=words):
            GRAPHS.get(f"file,path={tmp_path}/trust.csv{options}").read()


@check_each(
    ("text", "words"),
    [
        ("Source,Target,Type\na,b,Directed\nb,c,Undirected\n", "Type is .*, but must be Directed in all rows"),
        (",a,b\na,0,x\nb,1,0\n", "the entry 'x' is not a number"),
        (",a,b\na,0,\nb,1,0\n", "write 0 where there is no link"),
        (",a,b\na,1,0\nb,1,0\n", "a is linked with itself: write 0 on the diagonal"),
    ],
)
def test_what_a_table_of_links_must_not_be(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "net.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        File(f"{tmp_path}/net.csv").read()


def test_agents_are_called_by_a_label(tmp_path: Path) -> None:
    """Gephi names nodes by labels: names=label calls them so; two nodes of one label are refused."""
    graph = nx.Graph([("n1", "n2"), ("n2", "n3")])
    nx.set_node_attributes(graph, {"n1": "Łukasz", "n2": "bo"}, "label")
    nx.write_graphml(graph, tmp_path / "net.graphml")
    found = File(f"{tmp_path}/net.graphml", names="label").read()
    assert list(found) == ["Łukasz", "bo", "n3"]
    assert not found.nodes["Łukasz"]
    with pytest.raises(ValueError, match="no node has the attribute name"):
        File(f"{tmp_path}/net.graphml", names="name").read()
    nx.set_node_attributes(graph, "bo", "label")
    nx.write_graphml(graph, tmp_path / "twice.graphml")
    with pytest.raises(ValueError, match="two nodes are called 'bo'"):
        File(f"{tmp_path}/twice.graphml", names="label").read()


@check_each("name", ["net.txt", "net.csv", "net.adjlist", "net.gml", "net.net"])
def test_a_mark_of_windows_is_no_part_of_a_name(tmp_path: Path, name: str) -> None:
    """Editors of Windows begin a file with a byte order mark, or write Latin-1: the first person is Åsa all the same."""
    text = {
        "net.txt": "Åsa bo\n",
        "net.csv": "source,target\nÅsa,bo\n",
        "net.adjlist": "Åsa bo\n",
        "net.gml": GML.replace("Łukasz", "Åsa"),
        "net.net": PAJEK.replace("Łukasz", "Åsa"),
    }[name]
    for content in (b"\xef\xbb\xbf" + text.encode(), text.encode("latin-1"), text.encode("utf-16")):
        (tmp_path / name).write_bytes(content)
        assert next(iter(read_graph(str(tmp_path / name)))) == "Åsa"


def test_a_packed_file_made_to_fill_the_memory_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.5 GB of commas pack into 1.5 MB: unpacking stops at a bound, and so do the rows of a matrix that has none."""
    for module in ("parley.environments.edge_table", "parley.llm.table_text"):
        monkeypatch.setattr(f"{module}.LARGE", 1 << 16)
    lines = b"source,target\n" + b"a,b\n" * (1 << 16)
    for ending, packed in ((".csv.gz", gzip.compress(lines)), (".csv.bz2", bz2.compress(lines))):
        (tmp_path / f"bomb{ending}").write_bytes(packed)
        with pytest.raises(ValueError, match="times its size"):
            read_graph(str(tmp_path / f"bomb{ending}"))
    sparse.save_npz(tmp_path / "dense.npz", sparse.coo_array((np.ones(1 << 16), np.ones((2, 1 << 16), dtype=int))))
    with pytest.raises(ValueError, match="times its size"):
        read_graph(str(tmp_path / "dense.npz"))
    monkeypatch.undo()
    sparse.save_npz(tmp_path / "rows.npz", sparse.coo_array(([1.0], ([0], [1])), shape=(10**9, 10**9)))
    with pytest.raises(ValueError, match="far more than so small a file can link"):
        read_graph(str(tmp_path / "rows.npz"))


def test_a_parquet_file_is_the_table_of_its_columns(tmp_path: Path) -> None:
    """Texts and whole numbers as names, weights and signs: the links of the same CSV; other columns are refused or named."""
    table = pa.table({"from": [7, 7, 9], "to": ["zoe", " 9 ", "zoe"], "weight": [2, 0.5, 1], "sign": [1, -1, None]})
    pq.write_table(table, tmp_path / "net.parquet")
    (tmp_path / "net.csv").write_text("from,to,weight,sign\n7,zoe,2,1\n7,9,0.5,-1\n9,zoe,1,\n")
    read = [read_graph(str(tmp_path / name), directed=True) for name in ("net.parquet", "net.csv")]
    assert [list(graph.nodes) for graph in read] == [["7", "zoe", "9"]] * 2
    assert list(read[0].edges(data=True)) == list(read[1].edges(data=True))
    pq.write_table(table.rename_columns(["a", "b", "c", "d"]), tmp_path / "other.parquet")
    named = read_graph(str(tmp_path / "other.parquet"), columns=("a:source", "b:target"))
    assert sorted(map(sorted, named.edges)) == [["7", "9"], ["7", "zoe"], ["9", "zoe"]]


@check_each(
    ("columns", "told"),
    [
        ({"a": ["x"], "b": ["y"]}, "its first line must name the columns"),
        ({"source": ["x"], "from": ["x"], "target": ["y"]}, "two columns are called source"),
        ({"source": ["x"], "target": ["x"]}, "x is linked with itself"),
        ({"source": ["x", None], "target": ["y", "x"]}, "a line has no source"),
        ({"source": [["x"]], "target": [{"y": 1}]}, "cannot be read"),
        ({"source": ["x"], "target": ["y"], "weight": ["heavy"]}, "the weight 'heavy' is not a number"),
        ({"source": ["x"] * 200_000, "target": ["y"] * 200_000}, "bytes or rows when unpacked"),
        ({}, "cannot be read"),
    ],
)
def test_a_parquet_file_that_is_no_table_of_links_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], told: str
) -> None:
    """One line each, also for a file that is cut off and for one of very many equal rows."""
    monkeypatch.setattr(edge_columns, "LARGE", 1000)
    path = tmp_path / "net.parquet"
    pq.write_table(pa.table(columns), path)
    if not columns:
        path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ValueError, match=told) as error:
        read_table(str(path))
    assert "\n" not in str(error.value)
