"""What a search found, in sentences that say no more than their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parley.analysis.contrasts import Sides, amount
from parley.analysis.formatting import count_phrase, format_number
from parley.analysis.outcomes import RATED
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.unknown import unknown_sentence

from .bench import RoomOutcome
from .measures import BETTER, NO_BETTER, UNKNOWN, Curse, Estimate, verdict_on
from .methods import RANDOM
from .results import better_by, curse_of, new_effects
from .searching import BEST, BEST_RANDOM, CHANCE, Found

UP_OR_DOWN = Sides("up", "down")
WANTED = "in the wanted direction"


def setup_sentence(found: Found, outcome: RoomOutcome) -> str:
    """Return what was searched, on what, and how much of it."""
    plan, rooms = found.plan, found.plan.rooms
    met, people = plan.met
    same = (
        f" {met} of the {people} people in new repetitions were also in rooms of the search."
        if met
        else " All people in new repetitions are new."
    )
    wanted = plan.space.objective.direction
    audiences = f"and {count_phrase(len(plan.space.audiences), 'audience')} " if plan.space.audience else ""
    return (
        f"Searched: {count_phrase(len(found.trials), 'setting')} of {count_phrase(len(plan.space.options), 'intervention')} "
        f"{audiences}in {rooms.base.name}, on {count_phrase(rooms.searched, 'repetition')} ({_methods(plan.method)}, "
        f"{plan.trials} settings each at most). Wanted: {wanted} values of {outcome_words(outcome, found)}. Tested on "
        f"{count_phrase(rooms.new, 'new repetition')}.{same}"
    )


def debaters_sentence(found: Found) -> str:
    """Return who `first` and `second` are."""
    society = found.plan.rooms.base.society
    return " ".join(f"`{seat}`: {society.plural(society.seat(seat))}." for seat in ("first", "second"))


def _methods(method: str) -> str:
    return "random search" if method == RANDOM else f"{method} and random search"


def outcome_words(outcome: RoomOutcome, found: Found) -> str:
    """Return the outcome in words: `the attitude after the last round (0-10)`."""
    measure, society = outcome.measure, found.plan.rooms.base.society
    whom = f" of {society.plural(outcome.party)}" if outcome.party else ""
    if measure.source not in RATED:
        return f"{measure.title} ({measure.label})"
    rated = "the attitude" if measure.source == "attitudes" else f"the answer to {measure.column}"
    return f"{rated}{whom} after the last round{' (0-10)' if measure.source == 'attitudes' else ''}"


def sentences(found: Found, outcome: RoomOutcome) -> list[str]:
    """Return what the best setting does on new rooms, against a random choice, and how much of the promise was left."""
    unit = unit_of(outcome)
    lines = [
        _main(found, outcome, new_effects(found), unit),
        _against_chance(better_by(found, BEST), found, unit),
        _promise(curse_of(found), len(found.ranked(found.plan.method)), unit),
    ]
    if BEST_RANDOM in found.named:
        lines.append(_against_random_search(found, unit))
    return lines


def unit_of(outcome: RoomOutcome) -> str:
    """Return the unit of an effect: points of a rating, else that of the metric, which has no name."""
    return "points" if outcome.measure.source in RATED else ""


def _size(value: Estimate, unit: str) -> str:
    return amount((value.value, value.low, value.high), UP_OR_DOWN, unit)


def _main(found: Found, outcome: RoomOutcome, effects: Mapping[str, Estimate], unit: str) -> str:
    best, tried = effects[BEST], found.named[BEST].label
    if np.isnan(best.value):
        return f"The effect of the best setting found ({tried}) is unknown, because no new room has both outcomes."
    said = (
        f"On {count_phrase(best.units, 'new repetition')}, the best setting found ({tried}) moved "
        f"{outcome_words(outcome, found)} {_size(best, unit)}, compared with no intervention. For {chance_words(found)} the "
        f"effect was {_size(effects[CHANCE], unit)}."
    )
    return said if best.units >= FEWEST else f"{said} With fewer than {FEWEST} repetitions the search has no verdict."


def chance_words(found: Found) -> str:
    """Return what the best setting is compared with: a random audience, where nothing but the audience varies."""
    space = found.plan.space
    only_audiences = len(space.options) == 1 and all(
        option.vary.keys() <= space.audience.keys() for option in space.options.values()
    )
    return "a random audience" if space.audience and only_audiences else "a random choice"


def _against_chance(gain: Estimate, found: Found, unit: str) -> str:
    verdict, paid = verdict_on(gain), ", minus the cost," if found.plan.space.objective.worth else ""
    chance = chance_words(found)
    if verdict == UNKNOWN:
        return unknown_sentence(f"whether the best setting found is better than {chance}", gain.reason)
    if gain.is_zero:
        return f"The best setting found is no better than {chance}: no outcome differs."
    ends = f"95% interval {format_number(gain.low)} to {format_number(gain.high)}"
    size = f"{format_number(gain.value)} {unit}".strip()
    if verdict == NO_BETTER:
        return (
            f"The best setting found is no better than {chance}: the difference {WANTED}{paid} of {size} ({ends}) "
            "cannot be distinguished from 0."
        )
    word = "better" if verdict == BETTER else "worse"
    return f"The best setting found is {word} than {chance}: the difference {WANTED}{paid} is {size} ({ends})."


def _promise(curse: Curse, settings: int, unit: str) -> str:
    if np.isnan(curse.shrinkage):
        return "It is unknown how much of the effect in the search was chance, because a number is missing."
    searched, corrected = (
        amount((value, np.nan, np.nan), UP_OR_DOWN, unit) for value in (curse.searched.value, curse.corrected)
    )
    said = f"The best setting's effect was {searched} in the search, and is {_size(curse.new, unit)} on new rooms."
    if np.isnan(curse.corrected):
        return said
    choice = f"Corrected for the choice among {count_phrase(settings, 'setting')}"
    return f"{said} {choice}, the rooms of the search give an effect of {corrected}."


def _against_random_search(found: Found, unit: str) -> str:
    method = found.plan.method
    if found.named[BEST] == found.named[BEST_RANDOM]:
        return f"A random search with as many settings found the same setting as {method}."
    gain = better_by(found, BEST, BEST_RANDOM)
    verdict = verdict_on(gain)
    if verdict == UNKNOWN:
        return unknown_sentence(f"whether {method} found a better setting than random search", gain.reason)
    words = {BETTER: "a better setting than", NO_BETTER: "no better setting than"}.get(verdict, "a worse setting than")
    ends = "" if gain.is_zero else f" ({format_number(gain.low)} to {format_number(gain.high)})"
    size = f"{format_number(gain.value)} {unit}".strip()
    return f"{method} found {words} random search with as many settings: {size}{ends} {WANTED}."
