"""The report on a community: what the change of rules does, the judge, one post continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.figure_text import rooms_phrase
from parley.analysis.figures import ESTIMATE, draw_points, name_rows, new_figure
from parley.analysis.formatting import Column, count_table, format_estimate
from parley.analysis.persuasion.comparisons import EVEN
from parley.analysis.report import Report
from parley.analysis.rule_judge import JUDGE, PERCENT, fault_of
from parley.analysis.unknown import unknown_sentence

from .measures import (
    ANY,
    DIFFERENCES,
    REAL,
    REPLIES,
    WORDS,
    continuation_table,
    effect_table,
    origin_table,
    room_table,
    what_if_row,
    why_unknown,
)
from .members import Post
from .rooms import AFTER, ANSWERED, BEFORE, CONDITIONS, PLAIN, CommunityStudy, Written, post_table

READING = (
    "Every room runs three times with equal people, topics and seeds: under the rules before the change, under the rules after "
    "the change, and under the same new rules in other words, which shows the effect of wording alone (the null). The judge "
    "decides whether a post breaks a rule. Brackets hold 95% intervals over rooms, if there are five rooms or more. Intervals "
    "are not corrected for the number of comparisons."
)
SHOWN_POSTS = 6
TITLE = "The change of rules, and a rewording of the rules"


class CommunityOutcome(NamedTuple):
    """What a study found. lost: for each written member that is left out, the reason. judged: known posts, and the judge.

    continued: the post of a what-if, who answers it, its continuations and their verdicts, or None. origins: of `ask_origin`.
    """

    people: int
    lost: list[str]
    posts: list[Written]
    verdicts: pd.DataFrame
    judged: tuple[pd.DataFrame, pd.DataFrame]
    continued: tuple[Post, str, list[Written], pd.DataFrame] | None = None
    origins: pd.DataFrame | None = None


def write_community(
    study: CommunityStudy, outcome: CommunityOutcome, specs: tuple[str, str], answer: str, folder: Path
) -> Path:
    """Write community.md, its tables and its figure; return the path of the page.

    specs: of --llm and --judge. answer: of a what-if.
    """
    community, (known_posts, quality) = study.community, outcome.judged
    rules = [rule.name for rule in community.rules]
    report = Report(folder, "community", "A community before and after a change of its rules")
    rooms = room_table(outcome.posts, outcome.verdicts, rules)
    faults = {rule: fault_of(quality, community.name, rule) for rule in rules} | {
        ANY: fault_of(quality, community.name)
    }
    effects = mask_faults(effect_table(rooms, [*rules, ANY, REPLIES, WORDS]), faults)
    report.data(posts=post_table(outcome.posts), verdicts=outcome.verdicts, rooms=rooms, effects=effects)
    report.data(judge=quality, known=known_posts)
    report.plain(f"{community.title}: {community.goal}")
    report.add(f"Members: {outcome.people}, played by {specs[0]}. Judge: {specs[1]}. {READING}")
    for name, stated in (("before", study.before), ("after", study.after)):
        report.plain(f"Rules {name}: {', '.join(stated) or 'none'}")
    report.disclaim_models(*dict.fromkeys(specs))
    count_missing(report, study, outcome)
    lines = [effect_line(row, faults.get(str(row["measure"]), "")) for _, row in effects.iterrows()]
    report.in_short(lines)
    report.figure(draw_effects(effects, study.rooms), "community", TITLE)
    report.section("Before and after")
    report.table(effects, EFFECTS)
    add_judge(report, quality)
    if outcome.continued:
        add_what_if(report, outcome.continued, faults[ANY], answer)
    if outcome.origins is not None:
        add_origins(report, outcome.origins)
    add_examples(report, outcome.posts)
    return report.write()


def factor_of(row: Mapping[str, Any]) -> int:
    """Return by what numbers of a measure are multiplied to be shown: shares are shown in percent."""
    return 1 if row["measure"] in (REPLIES, WORDS) else PERCENT


def shown(row: Mapping[str, Any], name: str) -> str:
    """Return a number of a row of effects with its interval, shares in percent."""
    return scaled(row, (name, f"{name}_low", f"{name}_high"), factor_of(row))


def scaled(row: Mapping[str, Any], names: tuple[str, str, str], factor: float = PERCENT) -> str:
    """Return an estimate and the ends of its interval (names: of these columns) times a factor."""
    value, low, high = (factor * row[name] for name in names)
    return format_estimate(value, low, high, 1)


def title_of(row: Mapping[str, Any]) -> str:
    """Return what a measure is, with its unit."""
    measure = row["measure"]
    named = {REPLIES: "replies in a thread", WORDS: "words in a post", ANY: "posts that break some rule (%)"}
    return named.get(measure, f"posts that break the rule {measure} (%)")


def _column(name: str) -> Column:
    return lambda row: shown(row, name)


EFFECTS: Mapping[str, Column] = {
    "measure": title_of, "rooms": "change_rooms", **{name: _column(name) for name in CONDITIONS},
    "after − before": _column("change"), "reworded − after (null)": _column("wording"), "reworded − before": _column("again"),
}  # fmt: skip


def mask_faults(effects: pd.DataFrame, faults: Mapping[str, str]) -> pd.DataFrame:
    """Return the effects without numbers on rules for which the judge has a fault. faults: by measure."""
    masked = effects.copy()
    faulty = [bool(faults.get(name)) for name in masked["measure"]]
    names = [f"{name}{end}" for name in (*CONDITIONS, *DIFFERENCES) for end in ("", "_low", "_high")]
    masked.loc[faulty, names] = np.nan
    return masked


def side_of(low: float, high: float, null: float = 0.0) -> int:
    """Return 1 if an interval is above a null, -1 below, 0 if it contains the null or there is none (NaN)."""
    return int(low > null) - int(high < null)


def effect_line(row: Mapping[str, Any], fault: str) -> str:
    """Return what the change of rules does to a measure. It is claimed only if both wordings of the new rules show it."""
    title = title_of(row)
    if reason := fault or row["change_reason"] or row["again_reason"]:
        return unknown_sentence(f"what the change of rules does to {title}", reason)
    change, again = (side_of(row[f"{name}_low"], row[f"{name}_high"]) for name in ("change", "again"))
    values = f"{title}: {shown(row, BEFORE)} before, {shown(row, AFTER)} after, a difference of {shown(row, 'change')}"
    values = values[0].upper() + values[1:]
    if change and change == again:
        return f"{values}: {'more' if change > 0 else 'fewer'} after the change, in both wordings of the rules."
    if change or again:
        return f"{values}: a difference in one wording of the rules only ({shown(row, 'again')} in other words)."
    return f"{values}: no clear difference."


def count_missing(report: Report, study: CommunityStudy, outcome: CommunityOutcome) -> None:
    """Add how many members, posts, decisions and verdicts are missing, and why."""
    if study.members:
        report.missing(len(outcome.lost), study.members, "written members are left out", count_table(outcome.lost))
    written = [post for post in outcome.posts if post.is_post]
    lost = [post.reason for post in written if post.text is None]
    report.missing(len(lost), len(written), "posts are missing", count_table(lost))
    decisions = [post for post in outcome.posts if post.place > 0]
    unread = [decision.reason for decision in decisions if decision.replies is None]
    report.missing(len(unread), len(decisions), "decisions to reply are missing", count_table(unread))
    judged = outcome.verdicts[~outcome.verdicts["reason"].str.startswith("no statement")]
    without = judged[judged["value"].isna()]
    report.missing(len(without), len(judged), "verdicts are missing", count_table(without["reason"]))


def draw_effects(effects: pd.DataFrame, rooms: int) -> Figure:
    """Draw the differences in the share of posts that break each rule: the change, and the same rules in other words."""
    rule_effects = effects[~effects["measure"].isin((REPLIES, WORDS))]
    note = f"{rooms_phrase([rooms])}. Null: a rewording of the rules"
    with new_figure(5.0, 0.34 * len(rule_effects) + 1.3, note, title=TITLE) as figure:
        axis = figure.subplots()
        places = np.array(name_rows(axis, list(rule_effects["measure"]), 0))
        looks = (("change", "after − before", 0.12, ESTIMATE), ("wording", "null: in other words", -0.12, "#888888"))
        for name, label, shift, color in looks:
            values = PERCENT * rule_effects[[name, f"{name}_low", f"{name}_high"]].astype(float)
            draw_points(axis, places + shift, values, name, color=color, label=label)
        axis.set_xlabel("difference in posts that break a rule (percentage points)")
        axis.legend(fontsize=6, frameon=False)
    return figure


def add_judge(report: Report, quality: pd.DataFrame) -> None:
    """Add how good the judge is, on known posts."""
    about = (
        "Known posts are the text of a topic, once without and once with a planted sentence that breaks the rule. Sensitivity "
        "is the share of posts with the planted sentence in which the judge finds the broken rule. Specificity is the share "
        "of posts without the planted sentence in which the judge finds no broken rule. Cases are topics. If the judge fails "
        "this test, the report concludes nothing about the rule."
    )
    report.section("The judge", about)
    report.table(
        quality,
        {name if name != "probe" else "rule": heading for name, heading in JUDGE.items() if name != "competition"},
    )


def what_if_lines(row: Mapping[str, Any], fault: str) -> list[str]:
    """Return what an answer does to the continuations of one post, in sentences. row: of `what_if_row`."""
    if fault:
        return [unknown_sentence("how the thread continues", fault)]
    lines = [
        f"{kind}: in {scaled(row, (kind, f'{kind}_low', f'{kind}_high'))}% of "
        f"{row[f'{kind}_count']} continuations a reply breaks a rule"
        for kind in (PLAIN, ANSWERED)
    ]
    if reason := row["change_reason"]:
        return [*lines, unknown_sentence("whether the answer changes how the thread continues", reason)]
    value = scaled(row, ("change", "change_low", "change_high"))
    words = {1: "more often with the answer", -1: "less often with the answer", 0: "no clear difference"}
    sentence = f"A difference of {value} percentage points: {words[side_of(row['change_low'], row['change_high'])]}"
    return [*lines, f"{sentence}. This result holds only for the post that was continued."]


def add_what_if(
    report: Report, continued: tuple[Post, str, list[Written], pd.DataFrame], fault: str, answer: str
) -> None:
    """Add the continuations of one post with an answer and without it."""
    post, by, replies, verdicts = continued
    table = continuation_table(replies, verdicts)
    report.data(continuations=table, continued_posts=post_table(replies))
    report.section("What if")
    report.plain(f"The post, by {post.author}: {post.text}")
    report.plain(f"The answer, by {by}: {answer}")
    report.add("\n".join(f"- {line}" for line in what_if_lines(what_if_row(table), fault)))


def origin_line(row: Mapping[str, Any]) -> str:
    """Return whether the judge distinguishes posts of people from those of the model. row: of `origin_table`, of REAL."""
    if reason := why_unknown(row):
        return unknown_sentence("whether the judge can distinguish posts of people from posts of the model", reason)
    share = scaled(row, ("share", "low", "high"))
    words = {
        1: "it can distinguish them", -1: "the judge takes the model's posts for posts of people",
        0: "it is not shown that the judge can distinguish the two kinds of posts",
    }  # fmt: skip
    side = side_of(row["low"], row["high"], EVEN)
    return (
        f"The judge finds the post of a person in {share}% of pairs (50%: the judge sees no difference): {words[side]}."
    )


def add_origins(report: Report, judged: pd.DataFrame) -> None:
    """Add how well the judge distinguishes posts of people from those of the model."""
    table = origin_table(judged)
    report.data(origins=judged, origin=table)
    report.section("Compared with posts of people", origin_line(table[table["kind"] == REAL].iloc[0]))
    report.table(table, {"pairs of": "kind", "pairs": "pairs", "missing": "missing", "tested post chosen (%)": _chosen})


def _chosen(row: Mapping[str, Any]) -> str:
    return scaled(row, ("share", "low", "high"))


def add_examples(report: Report, posts: Sequence[Written]) -> None:
    """Add the first thread under each set of rules, as plain text."""
    report.section("Examples")
    for condition in CONDITIONS:
        condition_posts = [post for post in posts if post.condition == condition and post.is_post]
        thread = [
            post
            for post in condition_posts
            if (post.room, post.topic) == (condition_posts[0].room, condition_posts[0].topic)
        ]
        report.plain(f"{condition}: {thread[0].topic}")
        for post in thread[:SHOWN_POSTS]:
            report.plain(f"{post.author}: {post.text or f'(missing: {post.reason})'}")
