"""A search field that chooses one of many: a room, an agent. It shows a title whole, and finds it by any of its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import solara


@solara.component_vue("finder.vue")
def _Finder(label: str, options: str, value: str, steps: bool, event_choose: Callable[[str], None]) -> None:
    """options: JSON of a list of id and label. steps: whether there are buttons for the one before and the next."""


def finder(
    label: str, titles: Mapping[str, str], chosen: str, choose: Callable[[str], None], steps: bool = False
) -> None:
    """Show the field. titles: by id; chosen: the id that is shown; choose: gets the id that the reader takes."""
    options = json.dumps([{"id": id_, "label": title} for id_, title in titles.items()])
    _Finder(label=label, options=options, value=chosen, steps=steps, event_choose=choose)
