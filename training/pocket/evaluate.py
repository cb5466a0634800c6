"""Evaluates a pocket model:  python -m training.pocket.evaluate FOLDER --out DIR [--rooms 40] [--kappa 0 --mu 0]

Holds the same debates with the model and with the oracle it learned from (same seed, so the same people in the same seats),
on every topic, and writes what differs: figures.md, the tables as CSV, transcripts.md (twenty debates to be read).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from agents.topic import slugs
from llm.backends import open_spec
from llm.request import Backend
from model.events import Event, Seated, Utterance
from model.scenario import Scenario, load_preset
from training.pocket.measures import counterfactual, differences, hold, monotone, persons, ratings, text_quality

PROBE = "attitude_labelled"
TRANSCRIPTS = 20


def scenarios(rooms: int) -> dict[str, Scenario]:
    """The debates that are compared: three in a room, two in a room, echo chambers."""
    common = {"topics": ",".join(slugs()), "repetitions": rooms, "probe": PROBE}
    return {
        "three_way": load_preset("three_way").with_settings(common),
        "two_way": load_preset("two_way").with_settings({**common, "survey": "ends"}),
        "echo_chamber": load_preset("echo_chamber").with_settings({**common, "survey": "ends"}),
    }


def evaluate(model: Backend, oracle: Backend, rooms: int, out: Path) -> None:
    """Write everything into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    parts, tables = [], []
    for name, scenario in scenarios(rooms).items():
        events, theirs = hold(scenario, model), hold(scenario, oracle)
        found, planted = ratings(events), ratings(theirs)
        for when, round_ in (("first", 0), ("last", scenario.rounds)):
            tables.append(differences(found, planted, round_).assign(debate=name, rating=when))
        if name == "three_way":
            parts += [_table(persons(found, planted)), *_caused(scenario, events, theirs, model, oracle, out)]
            (out / "transcripts.md").write_text("\n".join(_transcripts(events)), encoding="utf-8")
    gaps = pd.concat(tables)
    gaps.to_csv(out / "ratings.csv", index=False)
    worst = {when: gaps.loc[gaps["rating"] == when, "difference"].abs() for when in ("first", "last")}
    head = "\n".join(
        f"- {when} ratings: {(gap <= most).sum()} of {len(gap)} cells within {most} of the generator, largest {gap.max():.2f}"
        for (when, gap), most in zip(worst.items(), (0.5, 0.7), strict=True)
    )
    (out / "figures.md").write_text("\n\n".join([head, _table(gaps), *parts]) + "\n", encoding="utf-8")


def _caused(
    scenario: Scenario, events: list[Event], theirs: list[Event], model: Backend, oracle: Backend, out: Path
) -> Iterator[str]:
    """What is said and what it does, the generator's own figures beside the model's."""
    quality = pd.DataFrame({"model": text_quality(events), "generator": text_quality(theirs)})
    quality.rename_axis("figure").reset_index().to_csv(out / "text.csv", index=False)
    yield _table(quality.rename_axis("figure").reset_index())
    for speaker, backend in (("model", model), ("generator", oracle)):
        pushed = monotone(counterfactual(scenario, events, backend))
        pushed.to_csv(out / f"counterfactual_{speaker}.csv", index=False)
        yield f"Grades heard, {speaker}:\n\n{_table(pushed)}"


def _table(frame: pd.DataFrame) -> str:
    """A data frame as a Markdown table, numbers with two decimals."""
    head = [f"| {' | '.join(frame.columns)} |", "|" + "---|" * len(frame.columns)]
    rows = [
        " | ".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row)
        for row in frame.itertuples(index=False)
    ]
    return "\n".join([*head, *[f"| {row} |" for row in rows]])


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
