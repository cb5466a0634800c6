"""Measures the shipped scenarios for the gallery of the page, and writes `seconds` and `found` into their files.

python -m tools.gallery [NAME ...]   all scenarios, or those named
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parley.agents.society import SEATS, load_society
from parley.analysis.run_report import write_report
from parley.analysis.tables import load
from parley.analysis.views._chart import Panel
from parley.analysis.views._form import draft_of, settings_of
from parley.analysis.views._session import surveyed
from parley.analysis.views.attitudes import attitude_chart
from parley.model.scenario import load_preset, preset_files
from parley.model.scenario_run import RunSpec, run_scenario

MEASURED = re.compile(r"^(seconds|found) = .*\n", re.M)


def measure(name: str) -> str:
    """Run a scenario as the page starts it, and return the two lines of its file."""
    given: dict[str, Any] = {"llm": "oracle", **settings_of(draft_of(name))}
    with TemporaryDirectory() as place:
        folder, began = Path(place) / "run", time.process_time()
        run_scenario(RunSpec(load_preset(name, given), folder, tuple(given)))
        write_report(folder)
        seconds = time.process_time() - began
        tables = load(folder)
        panels = attitude_chart(tables, name).panels if surveyed(tables) else []
    lines = f"seconds = {seconds:.1f}\n"
    return lines + (f"found = {{{means(panels[0])}}}\n" if panels else "")


def means(panel: Panel) -> str:
    """Return the means by round of each party of a panel (`first`, `second`: the debaters), as TOML.

    A party with a round without ratings is left out.
    """
    by_party = {line.key: [mean[0] for mean in line.means] for line in panel.lines}
    seats = dict(zip(load_society().debaters, SEATS, strict=True))
    known = {seats.get(party, party): values for party, values in by_party.items() if None not in values}
    return ", ".join(
        f'"{party}" = {[round(value, 1) for value in values if value is not None]}' for party, values in known.items()
    )


def main(names: list[str]) -> None:
    files = preset_files()
    for name in names or sorted(files):
        lines = measure(name)
        text = MEASURED.sub("", files[name].read_text(encoding="utf-8"))
        files[name].write_text(text.rstrip("\n") + "\n" + lines, encoding="utf-8")
        print(name, lines.partition("\n")[0])


if __name__ == "__main__":
    main(sys.argv[1:])
