"""DEBATE: statistics as its authors published them, of people and of a language model in the same groups. No raw data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from parley.llm.errors import UserError

NAMES = ("debate_benchmark_human_reference.json",)
ORIGIN = "DEBATE v1 2025, arXiv 2510.25110: groups of four, talks of two, opinions on six points; model: GPT-4o mini"


class Published(NamedTuple):
    """One published value, as it stands there. `measure` is the one of ours that comes nearest; "spread" is told as a test,
    the others are correlations. `public`: of what was posted, not of what was told in private.
    """

    measure: str
    title: str
    human: str
    model: str
    public: bool = False


ENTRIES = (
    ("own", "change against own initial opinion, r", "individual_level_correlations", "opinion_change_vs_initial"),
    ("distance", "change against distance to the first partner, r", "individual_level_correlations",
     "opinion_change_vs_first_partner_difference"),
    ("spread", "group SD, before to after", "group_level_depth_mode3_gpt4omini", "reported_opinion_SD_change"),
)  # fmt: skip
POSTED = (
    ("own", "posts: change against own first post, r", "individual_level_correlations", "tweet_change_vs_initial"),
    ("distance", "posts: change against distance to the first partner, r", "individual_level_correlations",
     "tweet_change_vs_first_partner_difference"),
    ("spread", "posts: group SD, first to last", "group_level_depth_mode3_gpt4omini", "tweet_stance_SD_change"),
)  # fmt: skip
"""The same of public posts; a file may be without them."""


def published(path: Path) -> list[Published]:
    """The values. Errors: UserError on a file that is not JSON or lacks one of them."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        pairs = [(measure, title, held[part][name]) for measure, title, part, name in ENTRIES]
        found = [Published(measure, title, str(pair["human"]), str(pair["LLM"])) for measure, title, pair in pairs]
        found += [
            Published(measure, title, str(held[part][name]["human"]), str(held[part][name]["LLM"]), True)
            for measure, title, part, name in POSTED
            if name in held[part]
        ]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} lacks a published value: {error}") from error
    if wrong := [
        value
        for entry in found
        if entry.measure != "spread"
        for value in (entry.human, entry.model)
        if not _correlation(value)
    ]:
        raise UserError(f"{path}: {wrong[0]} is no correlation")
    return found


def _correlation(text: str) -> bool:
    """A number from -1 to 1 with a point, as JSON writes it."""
    return re.fullmatch(r"-?(0(\.\d+)?|1(\.0+)?)", text) is not None
