"""Replies to posts that spread false claims, with evidence and without, and what a judge says of them.

Sources: MisinfoCorrect (2023), RARG (2024), PersuaBot (2024); README.md lists the departures. The unit of analysis is
the post: the samples of a post are averaged first, and conditions are compared within posts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.evidence import QUOTATION_KINDS, Evidence, Passage, name_sources
from parley.agents.reply_cleaning import one_line
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Item, Verdict, judge_item, load_rubric, missing, undecided
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.request import Backend
from parley.llm.seeding import derive, digest, stream
from parley.studies.corrections.corrector import HERE, Corrector, PostSet, read_correction

RUBRIC = load_rubric(str(HERE / "data" / "en" / "correction.toml"))
QUALITIES: Mapping[str, str] = {
    "refutation": "it says clearly that the claim of the post is false",
    "evidence": "it gives evidence about the very claim of the post, and says where the evidence is from",
    "politeness": "it is respectful and friendly toward the person who wrote the post",
    "factuality": "everything that it states is supported by the passages, and nothing that it states lacks their support",
}
"""Part of the judge's prompt."""
OVERALL = "overall"
MEASURES = (OVERALL, *QUALITIES)
WORDS = "words"
"""The length of a reply, which is reported with the ratings: a model can win ratings by saying less."""
EVIDENCE, REPLACED, ALONE, SHUFFLED, SWAPPED = "evidence", "replaced", "alone", "shuffled", "swapped"
CONDITIONS: Mapping[str, str] = {
    EVIDENCE: "the passages most like the post are shown, and quoted",
    REPLACED: "a draft is written without passages; then its claims are replaced by quotations",
    ALONE: "no passage is shown",
    SHUFFLED: "the passages of another post are shown",
    SWAPPED: "the reply with evidence to another post is judged as if it answered this one (the judge's floor)",
}
COLUMNS = [
    "post", "condition", "sample", "claim", "text", "reason", "sources", WORDS, "quotations", *QUOTATION_KINDS, *MEASURES,
    "unjudged",
]  # fmt: skip


class WrittenReply(NamedTuple):
    """A reply: its raw text, or None and the reason; the passages that were shown, numbered from 1."""

    post: int
    condition: str
    sample: int
    text: str | None
    reason: str | None
    shown: tuple[Passage, ...]

    @property
    def shown_text(self) -> str | None:
        """The reply with sources in the place of numbers, as the judge and a reader see it."""
        return None if self.text is None else name_sources(self.text, self.shown)


@dataclass(frozen=True)
class CorrectionStudy:
    """What is written and judged: posts, evidence, models, and how many passages, words and samples a reply has."""

    posts: PostSet
    evidence: Evidence
    llm: str
    judge: str
    passages: int = 3
    words: int = 60
    samples: int = 1
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        texts = [post.text for post in self.posts.posts]
        passages = [f"{passage.source} {passage.text}" for passage in self.evidence.passages]
        return {
            "llm": identity_spec(self.llm), "judge": identity_spec(self.judge), "language": self.posts.language.code,
            "posts": digest(*texts).hex(), "evidence": digest(*passages).hex(), "passages": self.passages,
            "words": self.words, "samples": self.samples, "seed": self.seed,
        }  # fmt: skip

    @property
    def size(self) -> int:
        """The number of posts."""
        return len(self.posts.posts)

    @cached_property
    def found(self) -> list[tuple[Passage, ...]]:
        """The passages most like each post, best first: the reference of its judge."""
        return [tuple(self.evidence.search(post.text, self.passages)) for post in self.posts.posts]

    @cached_property
    def others(self) -> list[int]:
        """Another post for each post, drawn with the seed: one without a passage in common, if there is one."""
        order, passages = stream(self.seed, "other posts").sample(range(self.size), self.size), self.found
        after = {post: [*order[place + 1 :], *order[:place]] for place, post in enumerate(order)}
        return [
            next((other for other in after[post] if not set(passages[post]) & set(passages[other])), after[post][0])
            for post in range(self.size)
        ]

    def corrector(self, adapter: str = "") -> Corrector:
        """Return the writer of replies."""
        return Corrector(self.posts.language, self.words, adapter=adapter)

    def write(
        self,
        conditions: Sequence[str],
        desk: CallDesk,
        posts: Sequence[int] | None = None,
        backend: Backend | None = None,
        adapter: str = "",
    ) -> list[WrittenReply]:
        """Return the replies to some posts (None: all) in each condition.

        backend: the model, if it is open. adapter: the name of its adapter that writes.
        """
        numbers = range(self.size) if posts is None else posts
        writer, replies = self.corrector(adapter), []
        for condition in conditions:
            conversations = [self._reply(writer, post, condition, n) for post in numbers for n in range(self.samples)]
            replies += desk.ask(conversations, self.llm, f"replies ({condition})", lambda reply: reply.reason, backend)
        return replies

    def _reply(self, writer: Corrector, post: int, condition: str, sample: int) -> Conversation[WrittenReply]:
        text, draft, shown = self.posts.posts[post].text, "", self._shown(post, condition)
        if condition == REPLACED:
            first = read_correction((yield from ask(writer.compose(text, (), self._seed(post, ALONE, sample)))))
            if first.text is None:
                return WrittenReply(post, condition, sample, None, f"no draft ({first.reason})", ())
            draft, shown = first.text, tuple(self.evidence.search(f"{text} {first.text}", self.passages))
        reply = yield from ask(writer.compose(text, shown, self._seed(post, condition, sample), draft))
        written = read_correction(reply)
        return WrittenReply(post, condition, sample, written.text, written.reason, shown)

    def _shown(self, post: int, condition: str) -> tuple[Passage, ...]:
        post_of = {EVIDENCE: post, SHUFFLED: self.others[post]}
        return self.found[post_of[condition]] if condition in post_of else ()

    def _seed(self, post: int, condition: str, sample: int) -> int:
        return derive(self.seed, "correction", condition, self.posts.posts[post].text, sample)

    def swapped(self, replies: Sequence[WrittenReply]) -> list[WrittenReply]:
        """Return the replies with evidence as replies to other posts."""
        with_evidence = {(reply.post, reply.sample): reply for reply in replies if reply.condition == EVIDENCE}
        return [
            with_evidence[self.others[post], sample]._replace(post=post, condition=SWAPPED)
            for post, sample in with_evidence
            if (self.others[post], sample) in with_evidence
        ]

    def judge_replies(self, replies: Sequence[WrittenReply], desk: CallDesk) -> pd.DataFrame:
        """Return one row per reply (COLUMNS): the qualities from 1 to 5 (NaN: missing), and `overall`,
        their mean if none is missing.

        A reply that is missing is not judged.
        """
        items = [self._item(reply, quality) for reply in replies for quality in QUALITIES]
        conversations = [judge_item(RUBRIC, item, self.seed) for item in items]
        verdicts = desk.ask(conversations, self.judge, "verdicts", undecided)
        parts = [verdicts[start : start + len(QUALITIES)] for start in range(0, len(verdicts), len(QUALITIES))]
        rows = [self._row(reply, verdicts) for reply, verdicts in zip(replies, parts, strict=True)]
        return pd.DataFrame(rows, columns=COLUMNS).astype(dict.fromkeys((*MEASURES, WORDS), "float64"))

    def _item(self, reply: WrittenReply, quality: str) -> Item | Verdict:
        if reply.shown_text is None:
            return missing(f"no statement ({reply.reason})")
        post, passages = self.posts.posts[reply.post].text, self.found[reply.post]
        slots = {"post": one_line(post), "statement": one_line(reply.shown_text), "quality": quality}
        listed = "\n".join(f"({passage.source}) {passage.text}" for passage in passages) or "(none)"
        facts: dict[str, Any] = {
            "passages": [passage.text for passage in passages],
            "language": self.posts.language.code,
        }
        return Item(
            (post, reply.shown_text, quality), {**slots, "meaning": QUALITIES[quality], "listed": listed}, facts=facts
        )

    def _row(self, reply: WrittenReply, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        post = self.posts.posts[reply.post]
        quoted = self.evidence.check(reply.text or "", reply.shown, post.text)
        kinds, values = Counter(quotation.kind for quotation in quoted), [verdict.value for verdict in verdicts]
        ratings = [value for value in values if value is not None]
        overall = sum(ratings) / len(ratings) if len(ratings) == len(values) else None
        reasons = dict.fromkeys(verdict.reason for verdict in verdicts if verdict.value is None) if reply.text else {}
        return {
            "post": reply.post + 1, "condition": reply.condition, "sample": reply.sample + 1, "claim": post.text,
            "text": reply.shown_text, "reason": reply.reason or "", "unjudged": ", ".join(reasons),
            "sources": "; ".join(passage.source for passage in reply.shown),
            WORDS: len(reply.text.split()) if reply.text else None, "quotations": len(quoted),
            **{kind: kinds[kind] for kind in QUOTATION_KINDS}, OVERALL: overall, **dict(zip(QUALITIES, values, strict=True)),
        }  # fmt: skip


def measure(study: CorrectionStudy, desk: CallDesk) -> pd.DataFrame:
    """Write replies in all conditions and judge them; return one row per reply (COLUMNS)."""
    replies = study.write((ALONE, EVIDENCE, REPLACED, SHUFFLED), desk)
    table = study.judge_replies([*replies, *study.swapped(replies)], desk)
    placed = table["condition"].map(list(CONDITIONS).index)
    order = table.assign(placed=placed).sort_values(["placed", "post", "sample"], kind="stable").index
    return table.loc[order].reset_index(drop=True)


def by_post(replies: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return by condition one row per post: topic (always the same), repetition (the post), and the mean over its samples.

    The columns are those of `compare_conditions`, for which a post is a room.
    """
    frames = {}
    for condition, condition_replies in replies.groupby("condition", sort=False):
        means = condition_replies.groupby("post")[[*MEASURES, WORDS]].mean().reset_index(names="repetition")
        frames[str(condition)] = means.assign(topic="posts")
    return frames


def retrieval(study: CorrectionStudy) -> pd.DataFrame:
    """Return one row per post whose answering passages are known: post, found (1: one of them is among those shown), chance.

    chance: the probability that passages drawn at random from the folder contain one of them.
    """
    rows, total = [], len(study.evidence.passages)
    for number, (post, shown) in enumerate(zip(study.posts.posts, study.found, strict=True)):
        if not post.evidence:
            continue
        hit = any(passage.source in post.evidence for passage in shown)
        missed = 1.0
        for place in range(min(study.passages, total)):
            missed *= max(total - len(set(post.evidence)) - place, 0) / (total - place)
        rows.append({"post": number + 1, "found": int(hit), "chance": 1 - missed})
    return pd.DataFrame(rows, columns=["post", "found", "chance"])
