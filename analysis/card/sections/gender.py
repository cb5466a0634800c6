"""Gender: the same agents as women and as men."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.card.conditions import TWINS, Batch, gender, with_genders
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.labels import contrasted, directed
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import CELL, away, effect
from parley.analysis.contrasts import to_and_from
from parley.analysis.statistics.intervals import FEWEST
from parley.model.scenario import Scenario

ORDER = 13
TITLE = "The same agents as women and as men"
NOTE = (
    "Debates of {a first} and {a second} are run twice: once with both agents as women and once with both agents as "
    "men. The section uses the personas of the card if at least five personas of each party exist as a man and as a "
    "woman. Otherwise the section uses the set `twins`, whose texts differ only in the gender. The unit is a pair of "
    "personas who debate each other. A number is the value for the pair as women minus the value for the same pair as "
    "men. The first row is about the answers before the debate. In UCL 2025, section 5.2, agents as women and as men "
    "said different things; with three texts per party, that study cannot tell gender from the texts."
)
NEEDS = (gender,)
QUANTITIES = {
    "gender_before": Quantity("rating before a debate, toward the {seconds'} end: women minus men", "points"),
    "gender_moved": Quantity("moved toward the other party: women minus men", "points"),
}
WATCH = ()
ABSENT = (
    "This section is missing: the society {society} has no set of personas in which at least {least} people of each party exist "
    "as a man and as a woman, and no set `{twins}`."
)


def absent(first: Batch) -> str:
    """Why there are no such debates ("": there are)."""
    if with_genders(first.base):
        return ""
    return ABSENT.format(society=first.society.title, least=FEWEST, twins=TWINS)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    women, men = (people(study, name) for name in ("women", "men"))
    columns = {"gender_before": "before", "gender_moved": "moved"}
    return [
        claim
        for name, column in columns.items()
        for claim in effect(name, women[column], men[column], "no answer could be read", "pair")
    ]


def people(study: ConditionRecords, condition: str) -> pd.DataFrame:
    """Means over debates, by pair (`block`: the two who debate each other), topic and party.

    Columns: before, the first rating (0-10; 10 is the end of the second party), and moved, how far the agent moved toward the
    other party (NaN where the parties begin alike).
    """
    rated = study.ratings(condition)
    rated = rated.assign(block=rated["block"].str.partition("/")[2])  # a listed cast: the same pairs in every batch
    wide = rated.groupby([*CELL, "round"], sort=False)["level"].mean().unstack("round")
    frame = pd.DataFrame({"before": wide.iloc[:, 0], "moved": wide.iloc[:, -1] - wide.iloc[:, 0]}).reset_index()
    frame = frame.join(-np.sign(away(study, "men")).rename("toward"), on=["topic", "party"])
    high, (first, second) = frame["topic"].map(lambda topic: load_topic(topic).high_party), study.parties
    turned = (10 - frame["before"]).where(high == first)
    before = frame["before"].where(high == second, turned)
    return frame.assign(before=before, moved=frame["moved"] * frame["toward"]).set_index(CELL)[["before", "moved"]]


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    before, moved = (find_estimate(claims, name) for name in QUANTITIES)
    if not (before and moved):
        return ""
    end = to_and_from(f"the end of {first.society.plural(first.parties[1])}")
    rated = f"Before a debate, the same agents rated {directed(before, end)} as women, compared with men."
    return (
        f"{rated} {contrasted('They', moved, ('debates as women', 'debates as men'), to_and_from('the other party'))}"
    )
