"""What a persuasive rewriting gains, with two nulls, and how well a panel predicts votes of people.

The gain is the share of comparisons in which the new message is preferred, minus one half. A paraphrase (the same in other words)
and a copy (the same text) are the nulls: they gain 0 where readers go by what a message says. Both orders are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from parley.agents.persuasion import Reader, read_message
from parley.agents.speech import Speech
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.persuasion.comparisons import ABOVE_HALF, EVEN, Match
from parley.analysis.statistics.intervals import FEWEST, NONE, SHARE, SIGNED, Floats, is_even
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence
from parley.llm.driver import Conversation, ask
from parley.llm.seeding import derive
from parley.studies.arena.writer import PARAPHRASE, PERSUASIVE, Writer

COPY = "copy"
FORMS = (PERSUASIVE, PARAPHRASE, COPY)
BEYOND = "beyond a paraphrase"
NULL_LIMIT = FEWEST + 1
FEWEST_SKEWED = 30
"""Messages that the interval at equal length needs: with ten skewed gains, 10% of the intervals miss (docs/exam.md)."""


class Rewriting(NamedTuple):
    """A message written anew, by the id of its original. text: None with a reason if the model did not write it."""

    message: str
    form: str
    text: str | None
    reason: str = ""

    @property
    def id(self) -> str:
        """The name of the new message: m1/persuasive."""
        return f"{self.message}/{self.form}"


def rewrite(writer: Writer, aim: str, message: str, text: str, form: str, seed: int) -> Conversation[Rewriting]:
    """Ask for one rewriting; a copy is not asked for."""
    if form == COPY:
        return Rewriting(message, form, text)
    request = writer.compose_rewriting(aim, text, form, derive(seed, "rewriting", message, form))
    written: Speech = read_message((yield from ask(request)))
    return Rewriting(message, form, written.text, written.reason or "")


def rewriting_matches(readers: Sequence[Reader], rewritings: Sequence[Rewriting]) -> list[Match]:
    """Return the matches of every reader with every original and its rewriting that was written."""
    return [
        Match(reader, rewriting.message, rewriting.id)
        for reader in readers
        for rewriting in rewritings
        if rewriting.text is not None
    ]


def gain_table(pairs: pd.DataFrame, texts: Mapping[str, str], rewritings: Sequence[Rewriting]) -> pd.DataFrame:
    """Return one row per rewriting: message, form, gain (mean over people, -0.5 to 0.5; NaN: missing), words (of the original),
    new_words, reason.

    pairs: of `pair_values`, with the originals before the rewritings.
    """
    gains = (EVEN - pairs["value"]).groupby(pairs["b"]).mean()
    rows = [
        (rewriting.message, rewriting.form, gains.get(rewriting.id, np.nan), len(texts[rewriting.message].split()),
         np.nan if rewriting.text is None else len(rewriting.text.split()), rewriting.reason)
        for rewriting in rewritings
    ]  # fmt: skip
    columns = ["message", "form", "gain", "words", "new_words", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"gain": "float64", "new_words": "float64"})


def summary_table(gains: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per form, and one for BEYOND (persuasive minus paraphrase, within messages).

    messages; missing; gain with low and high over messages (for claims about other messages), and people_low and people_high
    over people (for claims about other people); longer: mean of log2 of new words per word; level with level_low and level_high:
    the gain at equal length, by a straight line over messages.
    """
    wide = gains.pivot(index="message", columns="form", values="gain").reindex(columns=list(FORMS))
    by_person = (EVEN - pairs["value"]).groupby([pairs["member"], pairs["b"].str.rpartition("/")[2]]).mean().unstack()
    by_person = by_person.reindex(columns=list(FORMS))
    for frame in (wide, by_person):
        frame[BEYOND] = frame[PERSUASIVE] - frame[PARAPHRASE]
    rows = []
    for form in (*FORMS, BEYOND):
        values, people = (frame[form].dropna().to_numpy(dtype=float) for frame in (wide, by_person))
        bounds = SIGNED if form == BEYOND else ABOVE_HALF
        over_people = {f"people_{end}": mean_row(people, bounds=bounds)[end] for end in ("low", "high")}
        form_gains = gains[(gains["form"] == form) & gains["gain"].notna()]
        longer = np.log2(form_gains["new_words"] / form_gains["words"]).to_numpy(dtype=float)
        counts = {"form": form, "messages": len(values), "missing": len(wide) - len(values)}
        mean = float(longer.mean()) if len(longer) else np.nan
        level = equal_length(values if form == BEYOND else form_gains["gain"].to_numpy(dtype=float), longer)
        rows.append({**counts, **mean_row(values, "gain", bounds=bounds), **over_people, "longer": mean, **level})
    return pd.DataFrame(rows)


def equal_length(gains: Floats, longer: Floats) -> dict[str, float]:
    """Return the gain of rewritings as long as their originals, by least squares over messages; NaN where lengths do not vary.
    Below `FEWEST_SKEWED` messages it has no interval.

    >>> equal_length(np.array([0.1, 0.2, 0.3]), np.array([0.0, 1.0, 2.0]))["level"]
    nan
    """
    level, (low, high) = np.nan, NONE
    if len(gains) == len(longer) >= NULL_LIMIT and not is_even(longer):
        fit = OLS(gains, add_constant(longer)).fit()
        level = float(fit.params[0])
        few = len(gains) < FEWEST_SKEWED
        low, high = NONE if few or is_even(np.asarray(fit.resid)) else fit.conf_int()[0]
    return {"level": level, "level_low": float(low), "level_high": float(high)}


def verdict(summary: pd.DataFrame) -> str:
    """Return whether rewriting makes messages more persuasive than saying them in other words does; the unit is the message."""
    row = summary.set_index("form").loc[BEYOND]
    if np.isnan(row["low"]):
        reason = f"fewer than {FEWEST} messages have a gain" if row["messages"] < FEWEST else "the gains do not vary"
        return unknown_sentence("whether rewriting makes a message more persuasive", reason)
    if row["low"] <= 0 <= row["high"]:
        return (
            "Persuasive rewritings cannot be distinguished from paraphrases: the interval of the difference contains 0."
        )
    word = "more" if row["gain"] > 0 else "less"
    ends = 100 * row["gain"], 100 * row["low"], 100 * row["high"]
    return (
        f"Rewriting makes a message {word} persuasive: the share of the panel that prefers a persuasive rewriting to the "
        f"original is {amount(ends, HIGHER, 'percentage points', 1)} than the share that prefers a paraphrase."
    )


def agreement_table(panel: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
    """Return how well the panel, and other people, predict the votes of each person: one row per measure.

    panel, votes: of `pair_values`. panel: share of a person's votes that fall on the message which the panel prefers in that
    pair; people: the same for the majority of all other people (the ceiling); difference: panel minus people, over people with
    both. An even majority, and a tied vote, count half. Columns: measure, people, estimate, low, high. Chance is one half.
    """
    valued_votes = votes.dropna(subset=["value"])
    side = panel.groupby(["a", "b"])["value"].mean()
    keys = pd.MultiIndex.from_frame(valued_votes[["a", "b"]])
    sums = valued_votes.groupby(["a", "b"])["value"].agg(["sum", "count"]).reindex(keys)
    others = (sums["count"] - 1).to_numpy(dtype=float)
    rest = np.where(
        others > 0, (sums["sum"].to_numpy() - valued_votes["value"].to_numpy()) / np.maximum(others, 1), np.nan
    )
    vote = valued_votes["value"].to_numpy(dtype=float)
    both = pd.DataFrame({
        "panel": _agreement(vote, side.reindex(keys).to_numpy(dtype=float)), "people": _agreement(vote, rest),
    })  # fmt: skip
    by = valued_votes["member"].to_numpy()
    shared = both[both.notna().all(axis=1)].groupby(by[both.notna().all(axis=1)]).mean()
    measures = {name: both[name].groupby(by).mean().dropna() for name in both}
    measures["panel minus people"] = shared["panel"] - shared["people"]
    rows = [
        {"measure": name, "people": len(values), **mean_row(values.to_numpy(dtype=float), bounds=bounds)}
        for (name, values), bounds in zip(measures.items(), (SHARE, SHARE, SIGNED), strict=True)
    ]
    return pd.DataFrame(rows)


def _agreement(vote: Floats, majority: Floats) -> Floats:
    """Return 1 where a vote and a majority are on one side, 0 where not, one half where either is even; NaN without majority."""
    return np.where(np.isnan(majority), np.nan, (1 + np.sign(vote - EVEN) * np.sign(majority - EVEN)) / 2)
