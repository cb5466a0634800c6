"""Which groups of people are separate: the unit of the test of a claim."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from parley.agents.society import DEFAULT
from parley.analysis.outcomes import PLUS

GROUP, PERSON = "group", "person"


def separate_groups(people: Iterable[str]) -> dict[str, str]:
    """Return for each group of people the first one with which it shares a person, directly or through others.

    people: `uk/voters labour a+uk/voters labour b`. A Default is no person: it has no persona beyond a name.

    >>> list(separate_groups(["s p a+s p b+s default x", "s p b+s p c", "s p e+s default x"]).values())
    ['s p a+s p b+s default x', 's p a+s p b+s default x', 's p e+s default x']
    """
    labels = list(dict.fromkeys(people))
    graph = nx.Graph()
    for label in labels:
        graph.add_node((GROUP, label))
        persons = [person for person in label.split(PLUS) if person.split(" ")[1:2] != [DEFAULT]]
        graph.add_edges_from(((GROUP, label), (PERSON, person)) for person in persons)
    first_group: dict[str, str] = {}
    for component in nx.connected_components(graph):
        inside = [label for label in labels if (GROUP, label) in component]
        first_group |= dict.fromkeys(inside, inside[0])
    return {label: first_group[label] for label in labels}
