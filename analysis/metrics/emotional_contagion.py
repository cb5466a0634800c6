"""Do feelings spread along ties? A person's change of emotion, by what the authors felt whose lines it was shown.

Sources: S3 (Gao et al. 2023, arXiv 2307.14984), where emotions spread on a social network; Kramer, Guillory and Hancock 2014,
PNAS 111 (posts shown and emotion after); Krackhardt 1988, Social Networks 10 (shuffled places); Mundlak 1978, Econometrica 46
(own mean as a control). Departures: emotion is a person's own rating, not the words of its posts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.contrasts import amount, to_and_from
from parley.analysis.metrics._emotions import EmotionRoom, Ints, Lines, emotion_rooms, shown_mean
from parley.analysis.rooms import KEYS, RoomMeasurement, room_means
from parley.analysis.statistics.intervals import Floats, nanmean
from parley.analysis.statistics.null import share_as_large
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import derive

ORDER = 24
TITLE = "Contagion of emotion"
NOTE = (
    "A person's change of emotion from one survey to the next is fitted by least squares in each room, over persons and rounds. "
    "The column *observed* has the effect of the authors whose messages the person was shown, in points per point of the "
    "authors' feeling. An author's feeling is counted from the author's own average, in the survey before the message. Controls "
    "are the authors' average feeling, the person's own emotion and attitude before, and the round. The column *shuffled* has "
    "the mean effect if the people of a party swap places in the network, while ties and messages stay. Contagion is *observed* "
    "minus *shuffled*. So contagion leaves out the effect of following people who feel alike. The table shows means over rooms. "
    "The number p in the folder `tables/` is the share of shuffles whose mean effect is at least as far from the shuffles' "
    "average (the true order counts as a shuffle). If only some circles of a party hear of a shock, the shock looks like "
    "contagion. In a dense network many shuffled ties are true ties, so contagion is underestimated."
)
LABELS = {
    "emotion": "emotion", "rooms": "rooms", "observed": "observed", "shuffled": "shuffled", "contagion": "contagion",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "emotions_on_ties"
Key = tuple[str, str, str]
"""Topic, group and emotion."""
MEASURES = ("observed", "shuffled", "contagion")
SHUFFLES = 199
LEAST = 20
"""Changes below which a room has no estimate: there are four numbers to fit, and a mean for each round."""
ALPHA = 0.05
NO_CHANGE, NO_SPREAD = "no rating changed", "feelings of the authors do not vary"
NO_PAIR = "ties cannot be shuffled within parties"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and emotion: emotion, rooms, missing (ratings), changes (of people, over all rounds),
    observed, shuffled, contagion (points per point), p, reason.
    """
    rows, changes, draws = [], dict[Key, int](), dict[Key, list[Floats]]()
    for room in emotion_rooms(tables):
        for name, felt in room.ratings.items():
            key = (room.room.topic, room.room.group, name)
            true, count = effect(felt, room.attitudes, room.lines)
            shuffled = shuffled_effects(room, name) if true.value is not None else np.empty(0)
            rows.append({**room.room.keys, "emotion": name, "missing": room.missing(name), **_measured(true, shuffled)})
            changes[key] = changes.get(key, 0) + count
            if len(shuffled):
                draws.setdefault(key, []).append(shuffled)
    table = room_means(rows, MEASURES, by=("emotion",))
    keys = list(table[[*KEYS, "emotion"]].itertuples(index=False, name=None))
    table.insert(5, "changes", [changes[key] for key in keys])
    nulls = zip(table["contagion"], [draws.get(key, []) for key in keys], strict=True)
    table.insert(len(table.columns) - 1, "p", [p_value(value, null) for value, null in nulls])
    return table


def headline(table: pd.DataFrame) -> str:
    """Return a sentence for each topic, group and emotion."""
    return " ".join(_sentence(row) for row in table.to_dict("records"))


def _sentence(row: dict[str, Any]) -> str:
    name, low, high = str(row["emotion"]), row["contagion_low"], row["contagion_high"]
    if pd.isna(low):
        return unknown_sentence(f"whether {name} spread", str(row["reason"]))
    if low <= 0 <= high or not row["p"] < ALPHA:
        return f"{name.capitalize()} did not spread more than in networks with shuffled ties."
    spread, away = f"{name.capitalize()} spread", f"People moved away from the {name} of others"
    size = amount((row["contagion"], low, high), to_and_from("it"))
    return (
        f"{spread if low > 0 else away}: for each point that the authors of the messages shown to a person felt above "
        f"their own average, the feeling of the person moved {size}."
    )


def _measured(true: RoomMeasurement, shuffled: Floats) -> dict[str, RoomMeasurement]:
    """Return the measures of a room; a reason is given once, with the first that is missing."""
    if true.value is None or not len(shuffled):
        return {
            "observed": true,
            "shuffled": RoomMeasurement(None, None if true.value is None else NO_PAIR),
            "contagion": RoomMeasurement(None),
        }
    mean = float(shuffled.mean())
    return dict(zip(MEASURES, map(RoomMeasurement, (true.value, mean, true.value - mean)), strict=True))


def p_value(contagion: float, draws: list[Floats]) -> float:
    """Return the share of shuffles whose mean over rooms is as far from the mean of all; NaN without shuffles.

    contagion: the mean of observed minus shuffled, over the rooms that have shuffles.

    >>> p_value(1.0, [np.array([-0.2, 0.0, 0.2])])
    0.25
    """
    if not draws or np.isnan(contagion):
        return float("nan")
    means = np.stack(draws).mean(axis=0)
    return share_as_large(np.abs(means - means.mean()), abs(contagion))


def effect(felt: Floats, attitudes: Floats, lines: Lines) -> tuple[RoomMeasurement, int]:
    """Return the effect of the authors' feelings on a change of emotion (points per point), and the number of changes.

    felt, attitudes: (people, surveys), NaN where missing.
    """
    usual = np.broadcast_to(nanmean(felt, axis=1)[:, None], felt.shape)
    shown = [shown_mean(lines, values)[:, 1:] for values in (felt - usual, usual)]
    columns = np.stack([np.diff(felt, axis=1), *shown, felt[:, :-1], attitudes[:, :-1]])
    complete = np.isfinite(columns).all(axis=0)
    count = int(complete.sum())
    if count < LEAST:
        return RoomMeasurement(None, f"fewer than {LEAST} changes of people who were shown messages"), count
    rounds = np.broadcast_to(np.arange(complete.shape[1]), complete.shape)[complete]
    # The slope of what the controls leave of the change on what they leave of the lines shown: that of the whole regression.
    both, controls = np.split(_within(columns[:, complete], rounds).T, [2], axis=1)
    if np.ptp(both[:, 0]) < 1e-9:
        return RoomMeasurement(None, NO_CHANGE), count
    rest = (both - controls @ np.linalg.lstsq(controls, both, rcond=None)[0]).T
    spread = float(rest[1] @ rest[1])
    if spread < 1e-9 * count:
        return RoomMeasurement(None, NO_SPREAD), count
    return RoomMeasurement(float(rest[0] @ rest[1]) / spread), count


def _within(columns: Floats, rounds: Ints) -> Floats:
    """Return the columns, one a row, minus their mean in each round."""
    sizes = np.maximum(np.bincount(rounds), 1)
    return np.stack([values - (np.bincount(rounds, values) / sizes)[rounds] for values in columns])


def shuffled_effects(room: EmotionRoom, name: str) -> Floats:
    """Return the effect in each shuffle of the places within parties; empty where no two people are of one party."""
    parties = room.parties
    if np.max(np.bincount(parties)) < 2:
        return np.empty(0)
    rng = np.random.default_rng(derive(0, "emotional contagion", room.room.name, name))
    felt, attitudes = room.ratings[name], room.attitudes
    draws = [effect(felt, attitudes, room.lines.moved(swapped(parties, rng)))[0].value for _ in range(SHUFFLES)]
    values = np.array(draws, dtype=float)
    finite_values = values[np.isfinite(values)]
    return values if len(finite_values) == SHUFFLES else np.empty(0)


def swapped(parties: Ints, rng: np.random.Generator) -> Ints:
    """Return for each person whose place it takes in the network: that of a person of its party, at random."""
    places = np.arange(len(parties))
    for party in np.unique(parties):
        party_places = np.flatnonzero(parties == party)
        places[party_places] = rng.permutation(party_places)
    return places
