"""People who choose one after another: order, signals and choices of one room, period by period."""

from __future__ import annotations

from typing import Any

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Line, element, line, log, table
from parley.analysis.views._replay import moment
from parley.analysis.views._session import Shown, debates

from .choice_rows import AGAINST, PeriodRows, room_periods

ORDER = 2
TITLE = "Choices"
HOW = (
    f"Each row is a period, from the first person to the last. {AGAINST} marks a choice against the own signal, and – marks "
    "an unreadable choice. In each period, everyone gets a new signal, and the right option is drawn again."
)


def shows(tables: Tables) -> bool:
    return len(tables.decisions) > 0


@solara.component
def View(shown: Shown) -> None:
    tables, titles = shown.tables, debates(shown.tables)
    room = solara.use_reactive(next(iter(titles)))
    here = room.value if room.value in titles else next(iter(titles))
    with solara.Div(classes=["choose"]):
        finder("Room", titles, here, room.set, steps=len(titles) > 1)
    periods = solara.use_memo(lambda: room_periods(tables, here), [tables, here])
    past = [period for period in periods if period.round <= shown.round]
    places = max((len(period.rows) for period in past), default=0)
    header = ["period", "right option", *map(str, range(1, places + 1)), "result"]
    table(header, [period_row(period, places) for period in past], "Choices in the order of choosing")
    element("p", HOW, css="soft")
    lines = solara.use_memo(lambda: choice_lines(tables, here, periods), [tables, here])
    log(lines, "Choices one after another", shown.round, shown.session.look_at, empty="No choice so far.")


def period_row(period: PeriodRows, places: int) -> list[Any]:
    """Return a period as a row: its number, the right option, each choice, and how many were right."""
    cells = [row.cell for row in period.rows]
    return [str(period.round), period.state, *cells, *[""] * (places - len(cells)), period.result]


def choice_lines(tables: Tables, room: str, periods: list[PeriodRows]) -> list[Line]:
    """Return for each period its heading, each choice at its moment, and from where on a Bayesian follows the others."""
    rows = tables.agents[tables.agents["room"] == room]
    names = dict(zip(rows["agent"].tolist(), rows["name"].astype(str).tolist(), strict=True))
    lines: list[Line] = []
    for period in periods:
        count = len(period.rows)
        began = moment(period.round, 1, 2 * count + 1)
        chance = f"before the signals, A is right {100 * period.prior:.0f} times in 100"
        lines.append(line(f"Period {period.round}: {period.state} is right ({chance})", tag="h3", at=began))
        for place, row in enumerate(period.rows, 1):
            at = moment(period.round, place, count)
            if period.follows and period.follows[0] == row.position:
                lines.append(line(FOLLOWS.format(*period.follows), "rated", at=at))
            css = "turn outside" if row.right is None else "turn edge-0" if row.right else "turn edge-2"
            lines.append(
                line(
                    row.text,
                    css,
                    who=f", place {row.position}: ",
                    name=names[row.agent],
                    person=(room, row.agent),
                    at=at,
                )
            )
        lines.append(line(f"{period.result}.", "rated", at=moment(period.round)))
    return lines


FOLLOWS = "From place {} on, a Bayesian chooses {}, whatever its own signal says."
