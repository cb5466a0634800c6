"""The command `run.py study export-network`: the network of a run as a graph file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option

ENDINGS = (".graphml", ".gexf")


def parser() -> Parser:
    """Return the options of `run.py study export-network`."""
    options = Parser(
        "study export-network",
        "Write the network of a run or a population as a graph file, with the opinions of everyone after each round "
        "(studies/network_export/README.md). Gephi, igraph and networkx open the file.",
        "study export-network runs/a --out a.gexf",
        cli.out("network.graphml in the folder", "FILE"),
    )
    add_option(options, "RUN", "the folder of a run with a network, or of a population", Path)
    add_option(
        options, "--room NAME", "the room to write, such as racism/mixed/000 (default: the first room)", default=""
    )
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study export-network RUN`."""
    options = parser().parse_args(words)
    path = options.out or options.run / "network.graphml"
    if path.suffix not in ENDINGS:
        raise UserError(f"--out {path}: the name must end in {' or '.join(ENDINGS)}")
    from parley.environments.graph_files import write_graph
    from parley.model.files import file_errors
    from parley.studies.network_export.graph import network_of

    graph = network_of(options.run, options.room)
    with file_errors(f"cannot write {path}"):
        write_graph(graph, path)
    print(f"{len(graph):,} nodes, {graph.size():,} {'directed' if graph.is_directed() else 'undirected'} links")
    print_paths(network=path)
    return 0
