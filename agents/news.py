"""Items of news: topics whose axis is belief. An item has a true report, a false rumour about the same event, and a claim.

A file of an item, in topics/news/ of a language or of a society, or at a path of the user:

    title = "the bridge story"

    [news]
    subject = "disasters"                                   # what it is about, in a word: results are compared by it
    claim = "the bridge of Ostermoor is about to collapse"  # what the rumour claims, as a clause: belief in it is asked for
    report = "Engineers inspected ..."                      # what happened: the text with which a story begins
    rumour = "The bridge of Ostermoor is about to ..."      # in the prompt of believers, and of those who do not believe it

Question and survey questions follow from title and claim; a file may state its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parley.agents.datafiles import build_from_table
from parley.agents.language import Language
from parley.llm.errors import UserError

BELIEF = "belief"
"""The axis of an item of news: 0 certainly false, 10 certainly true."""
BELIEVER, SUSCEPTIBLE = "believer", "susceptible"
"""What a prompt says at the start: that the agent believes the rumour, or that it does not."""


@dataclass(frozen=True)
class NewsItem:
    """What an item of news says; see the top of this file."""

    subject: str
    claim: str
    report: str
    rumour: str

    def __post_init__(self) -> None:
        for name in ("subject", "claim", "report", "rumour"):
            if not getattr(self, name).strip():
                raise UserError(f"[news] {name} is empty: write a text")

    def opening(self, belief: str, language: Language) -> str:
        """Return the sentences at the start of an agent's prompt. belief: BELIEVER or SUSCEPTIBLE."""
        return language.fill(belief, rumour=self.rumour)


def news_item(table: Mapping[str, Any], where: str) -> NewsItem:
    """Read the table [news] of a file. Errors: UserError on unknown, missing and empty entries."""
    return build_from_table(NewsItem, table, f"[news] of {where}")


def topic_values(values: Mapping[str, Any], item: NewsItem, language: Language) -> dict[str, Any]:
    """Return the entries of a topic's file; those that the file of an item leaves out follow from title and claim."""
    slots = {"title": values.get("title", ""), "claim": item.claim}
    belief = {"construct": BELIEF, "scale": "belief_0_10", "question": language.fill("news_belief", **slots)}
    agreed = f"{language.words('agree')}{item.claim}?"
    agreement = {"construct": "agreement", "scale": "agreement_1_7", "question": agreed}
    given: dict[str, Any] = {"axis": BELIEF, "high_party": "", "in_backstories": False}
    given["question"] = language.fill("news_question", **slots)
    probes = {"attitude": belief, "agreement": agreement}
    return {**given, **values, "probes": {**probes, **values.get("probes", {})}}
