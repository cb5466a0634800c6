"""Posts as trees: what answered a post, who shared it, and how many people it was shown to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import solara

from parley.agents.society import PartyNames
from parley.analysis.feeds import PostNode, post_trees, tree_words, written
from parley.analysis.formatting import count_phrase
from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Line, element, line, log
from parley.analysis.views._session import Shown, debates
from parley.analysis.views.conversation import edges
from parley.model.titles import seat_label

ORDER = 3
TITLE = "Cascades"
DEEPEST = 6
"""Deeper posts are not indented further; each says how deep it is."""
ALONE = "Posts without an answer or a share"
HOW = (
    "Each tree begins with a post. Below a post are the answers to it and the people who shared it. A share "
    "that came through another share is below that other share. The largest tree comes first."
)


def shows(tables: Tables) -> bool:
    return not tables.acts.empty


@solara.component
def View(shown: Shown) -> None:
    tables, titles = shown.tables, debates(shown.tables)
    room = solara.use_reactive(next(iter(titles)))
    here = room.value if room.value in titles else next(iter(titles))
    with solara.Div(classes=["choose"]):
        if len(titles) > 1:
            finder("Room", titles, here, room.set, steps=True)
    trees = solara.use_memo(lambda: post_trees(tables, here, shown.round), [tables, here, shown.round])
    element("p", HOW, css="soft")
    element("p", trees_words(trees), css="soft", role="status")
    log(tree_lines(tables, here, trees), "Cascades", shown.round, shown.session.look_at, empty="No post so far.")


def trees_words(trees: list[list[PostNode]]) -> str:
    """Return how many trees there are, and how large the largest is."""
    grown = [tree for tree in trees if len(tree) > 1]
    if not grown:
        return f"{count_phrase(len(trees), 'post')}, none with an answer or a share."
    largest = tree_words(grown[0])
    return (
        f"{count_phrase(len(trees), 'first post')}, {len(grown)} with answers or shares. The largest tree: {largest}."
    )


def tree_lines(tables: Tables, room: str, trees: list[list[PostNode]]) -> list[Line]:
    """Return each tree of more than one post under a heading, then the posts that stayed alone."""
    rows = tables.agents[tables.agents["room"] == room].to_dict("records")
    seated, texts, looks = {int(row["agent"]): row for row in rows}, written(tables, room), edges(tables)
    lines: list[Line] = []
    for number, tree in enumerate((tree for tree in trees if len(tree) > 1), 1):
        lines.append(line(f"Tree {number}: {tree_words(tree)}", tag="h3"))
        lines += [_node_line(node, seated, texts, looks, tables.names) for node in tree]
    alone = [tree[0] for tree in trees if len(tree) == 1]
    if alone:
        lines.append(line(f"{ALONE}: {len(alone)}", tag="h3"))
    return [*lines, *(_node_line(node, seated, texts, looks, tables.names) for node in alone)]


def _node_line(
    node: PostNode,
    seated: Mapping[int, Any],
    texts: Mapping[int, tuple[int, str]],
    looks: Mapping[str, Any],
    parties: PartyNames,
) -> Line:
    row = seated[node.agent]
    kind, colour = looks[str(row["party"])]
    depth = f" depth-{min(node.depth, DEEPEST)}" if node.depth else ""
    deep = f", depth {node.depth}" if node.depth else ""
    person = (str(row["room"]), node.agent)
    if node.kind == "share":
        who = f" ({seat_label(row, parties)}) shares post {node.post}, round {node.round}{deep}"
        return line("", f"rated{depth}", who=who, name=str(row["name"]), person=person)
    seen = f"votes {node.score}, shown to {count_phrase(node.views, 'reader')}"
    who = f" ({seat_label(row, parties)}), {node.kind} {node.post}, round {node.round}{deep}, {seen}: "
    return line(
        texts[node.post][1], f"turn {kind}{depth}", who=who, colour=colour, name=str(row["name"]), person=person
    )
