"""Evaluates a pocket model:  python -m tools.pocket.evaluate FOLDER --out DIR [--rooms 40] [--kappa 0 --mu 0]

Holds the same debates with the model and with the oracle it learned from (same seed, so the same people in the same seats),
on every topic, and writes what differs: card.md, its tables as CSV, transcripts.md (twenty debates to be read). It also
asks invented people about themselves (interviews.csv).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from parley.agents.topic import topic_names
from parley.llm.backends import open_spec
from parley.llm.request import Backend
from parley.model.events import Event, Seated, Utterance
from parley.model.scenario import Scenario, load_preset
from tools.pocket.card import card, text_figures
from tools.pocket.evaluation_measures import counterfactual, differences, hold_debates, monotone, persons, ratings
from tools.pocket.interview_measures import interview_figures

PROBE = "attitude_labelled"
TRANSCRIPTS = 20


def scenarios(rooms: int) -> dict[str, Scenario]:
    """The debates that are compared: three in a room, two in a room, echo chambers."""
    common = {"topic": ",".join(topic_names()), "repetitions": rooms, "probe": PROBE}
    return {
        "three_way": load_preset("three_way").with_settings(common),
        "two_way": load_preset("two_way").with_settings({**common, "survey": "ends"}),
        "echo_chamber": load_preset("echo_chamber").with_settings({**common, "survey": "ends"}),
    }


def evaluate(model: Backend, oracle: Backend, rooms: int, out: Path) -> None:
    """Write everything into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    tables: list[pd.DataFrame] = []
    pushes: list[pd.DataFrame] = []
    for name, scenario in scenarios(rooms).items():
        held = {"model": hold_debates(scenario, model), "oracle": hold_debates(scenario, oracle)}
        rated, planted = map(ratings, held.values())
        for when, round_ in (("first", 0), ("last", scenario.rounds)):
            tables.append(differences(rated, planted, round_).assign(debate=name, rating=when))
        if name != "three_way":
            continue
        persons(rated, planted).to_csv(out / "persons.csv", index=False)
        (out / "transcripts.md").write_text("\n".join(_transcripts(held["model"])), encoding="utf-8")
        texts = [_kept(text_figures(events), out / f"text_{speaker}.csv") for speaker, events in held.items()]
        for told in (True, False):
            for speaker, backend in (("model", model), ("oracle", oracle)):
                pushed = monotone(counterfactual(scenario, held["model"], backend, told))
                pushes.append(_kept(pushed, out / f"counterfactual_{'told' if told else 'bare'}_{speaker}.csv"))
    _kept(interview_figures(model, oracle), out / "interviews.csv")
    gaps = _kept(pd.concat(tables), out / "ratings.csv")
    text = card(gaps, (texts[0], texts[1]), (pushes[0], pushes[1]), (pushes[2], pushes[3]), rooms)
    (out / "card.md").write_text(text + "\n", encoding="utf-8")


def _kept(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    table.to_csv(path, index=False)
    return table


def _transcripts(events: list[Event]) -> Iterator[str]:
    """TRANSCRIPTS debates, spread over the topics."""
    seats = {event.agent: event for event in events if isinstance(event, Seated)}
    rooms = list(dict.fromkeys(seat.room for seat in seats.values()))
    shown = rooms[:: max(1, len(rooms) // TRANSCRIPTS)][:TRANSCRIPTS]
    for room in shown:
        yield f"## {room}\n"
        for event in events:
            if isinstance(event, Utterance) and event.room == room:
                seat = seats[event.agent]
                yield f"- **{seat.name}** ({seat.party}): {event.text}"
        yield ""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rooms", type=int, default=40)
    parser.add_argument("--kappa", type=float)
    parser.add_argument("--mu", type=float)
    given = parser.parse_args(arguments)
    truth = "".join(
        f",{name}={value}" for name, value in (("kappa", given.kappa), ("mu", given.mu)) if value is not None
    )
    evaluate(open_spec(f"pocket:{given.folder.resolve()}"), open_spec(f"oracle{truth}"), given.rooms, given.out)


if __name__ == "__main__":
    main()
