"""Counts missing ratings, replies, acts and other answers, and stops a run in which almost none can be read.

A run stops after a survey or a round in which fewer than 1 in 20 (`LEAST`) of a model's ratings or replies can be read. This
holds for the first survey or round, and for a later one with at least 20 (`ENOUGH`). All further calls would cost money too.
With `keep_going` the run continues. Each of several models is judged separately; scripted partners (fake, lines) are not judged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, cast

from parley.llm.backends import is_scripted
from parley.llm.errors import UserError
from parley.llm.notices import notify
from parley.model.events import Acted, Event, Rated, Seated, Utterance

LEAST, ENOUGH = 0.05, 20
IN_A_ROW = 2
"""Turns of an agent lost to the context before there is a line on the terminal: one may be a single long prompt."""
MANY = 0.2
"""The share of missing ratings or replies from which on there is a warning."""
RATINGS, REPLIES, ACTS = "ratings", "replies", "acts"
PEOPLE = "answers of people"
"""Ratings and lines of people in a seat. They stop no run: a person may leave, or may not agree to take part."""
UNASKED = frozenset({"absent", "muted", "no_side", "no_statement", "no_opinions"})
"""Reasons of a silence that is no failure, because nothing was asked."""
OUTGROWN = "context_overflow"
SHORTER = "repeat the run in another folder with --set memory=last:12 or --set memory=summary:12, or give the server more context"
SHOWN = 80
"""Number of characters of a reply that are shown."""
ADVICE = {
    "refusal": "the model steps out of its role: choose another model or other personas",
    "empty": "the model writes nothing: choose another model",
    "out_of_tokens": "the model uses up its tokens before it answers: allow more tokens with the option thinking of openai",
    "unknown_ask": "the rule-based speaker can only answer questions about the topics it knows: choose another model or topic",
    "no_known_sentence": "the rule-based speaker can only read sentences of oracle and pocket: choose another model",
    "unscripted": "this is a test speaker without opinions: choose a model",
    "echo": "the model repeats what it is asked: choose a chat model, or another way of asking (docs/models.md)",
    OUTGROWN: f"the debate does not fit into the model's context: {SHORTER}",
    "spoke_for_others": "the model writes the lines of other agents: choose a chat model",
}
FAILED = "fix the problem, then repeat the command, with --retry-failures if the command has that option"
UNREAD = (
    "the model does not answer in the required form: choose another model, or another way of asking (docs/models.md)"
)
WARNING = "\nWARNING  a fifth or more is missing: read the reasons, and some replies, before you use the results"


class Unreadable(UserError):
    """Almost no reply of a model can be read. It stops the run; no reply is invented."""


class TallyKey(NamedTuple):
    """What is counted together: ratings (of a probe), replies, acts and so on of a model or a person, by its voice."""

    voice: str
    what: str
    probe: str = ""


class MissingTally:
    """Counts what was asked, and the reasons for what is missing, with an example of each."""

    def __init__(self) -> None:
        self.asked = Counter[TallyKey]()
        self.missing: defaultdict[TallyKey, Counter[str]] = defaultdict(Counter)
        self.examples: dict[str, str] = {}

    def count(self, key: TallyKey, reason: str | None, raw: str | None = None) -> None:
        """Count one rating, reply or act. `reason` says why it is missing; None if it is not."""
        self.asked[key] += 1
        if reason is not None:
            self.missing[key][reason] += 1
            if raw:
                self.examples.setdefault(reason, raw)

    def hear(
        self, events: Iterable[Event], voices: Mapping[int, str], models: Collection[str], people: Collection[str] = ()
    ) -> None:
        """Count the answers of agents whose voice is one of the models, unless nothing was asked.

        people: voices of seats in which a person sits; all their ratings and lines count, also those that were not asked for.
        """
        for event in cast("Iterable[Any]", events):
            if not (event.counted or isinstance(event, Rated | Utterance | Acted)):
                continue
            if (voice := voices.get(event.agent, "")) in people:
                if isinstance(event, Rated | Utterance) and event.reason not in UNASKED:
                    self.count(TallyKey(voice, PEOPLE), event.reason)
            elif voice not in models:
                continue
            elif isinstance(event, Rated) and event.asked:
                reason = event.reason or "empty" if event.rating is None else None
                self.count(TallyKey(voice, RATINGS, event.probe), reason, event.raw)
            elif isinstance(event, Acted) and event.asked:
                self.count(TallyKey(voice, ACTS), event.reason, event.raw if event.act is None else event.target_raw)
            elif event.counted and event.asked:
                self.count(TallyKey(voice, event.counted), event.reason, event.raw)
            elif isinstance(event, Utterance) and event.reason not in UNASKED:
                self.count(TallyKey(voice, REPLIES), event.reason or "empty" if event.text is None else None, event.raw)

    def add(self, other: MissingTally) -> None:
        """Add the counts of another tally."""
        self.asked.update(other.asked)
        for key, reasons in other.missing.items():
            self.missing[key].update(reasons)
        self.examples = {**other.examples, **self.examples}

    def check(self, earlier: Collection[TallyKey], models: Mapping[str, str], details: Mapping[str, str]) -> None:
        """Errors: Unreadable if almost nothing could be read.

        earlier: what was asked before. models: by voice. details: the message of a failed call, by the name of the failure.
        """
        for key, count in self.asked.items():
            lost = self.missing[key].total() if key in self.missing else 0
            if key.what != PEOPLE and (key not in earlier or count >= ENOUGH) and count - lost < LEAST * count:
                reason, times = self.missing[key].most_common(1)[0]
                named = f"{key.what} ({key.probe})" if key.probe else key.what
                shown = _shown(details.get(reason) or self.examples.get(reason, ""))
                advice = ADVICE.get(reason, FAILED if reason in details else UNREAD)
                raise Unreadable(
                    f"{models[key.voice]}: {lost:,} of {count:,} {named} are missing, mostly for {reason} "
                    f"({times:,}){shown}: {advice}; or continue anyway with --keep-going"
                )

    @property
    def line(self) -> str:
        """A line such as `missing  12 of 330 ratings (3.6%: unclear_number 8, refusal 4), 0 of 150 replies`.

        A second line warns if a fifth is missing. The line is empty if nothing was asked.
        """
        parts, worst = [], 0.0
        for what in dict.fromkeys(key.what for key in self.asked):
            asked_count = sum(number for key, number in self.asked.items() if key.what == what)
            reasons = sum((counts for key, counts in self.missing.items() if key.what == what), Counter[str]())
            why = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
            share = reasons.total() / asked_count
            percent = f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
            parts.append(f"{reasons.total():,} of {asked_count:,} {what}{f' ({percent}: {why})' if why else ''}")
            worst = max(worst, share)
        warning = WARNING if worst >= MANY else ""
        if any(OUTGROWN in reasons for reasons in self.missing.values()):
            warning += f"\nWARNING  {ADVICE[OUTGROWN]}"
        return f"missing  {', '.join(parts)}{warning}" if parts else ""


def tally_of(record: Iterable[Event], specs: Mapping[str, str]) -> MissingTally:
    """Return the counts of a finished record. specs: the models of seats and parties; scripted ones are not counted."""
    tally, voices, events = MissingTally(), {}, list(record)
    for event in events:
        if isinstance(event, Seated):
            voices[event.agent] = next((who for who in (event.seat, event.party) if who in specs), "")
    tally.hear(events, voices, ["", *(who for who, spec in specs.items() if not is_scripted(spec))])
    return tally


class ContextWatch:
    """Says once that debates have outgrown the model's context, as soon as that has cost an agent two turns in a row.

    A run that goes on loses the end of each debate, and too few replies at a time to stop it.
    """

    def __init__(self) -> None:
        self._lost = Counter[tuple[str, int]]()
        self._told = False

    def hear(self, events: Iterable[Event]) -> None:
        """Count the turns of each agent that were lost since its last reply."""
        for event in cast("Iterable[Any]", events):
            if (event.counted or isinstance(event, Utterance | Acted)) and event.reason not in UNASKED:
                seat = event.room, event.agent
                self._lost[seat] = self._lost[seat] + 1 if event.reason == OUTGROWN else 0
                if self._lost[seat] == IN_A_ROW and not self._told:
                    self._told = True
                    notify(f"round {event.round}: {ADVICE[OUTGROWN]}")


def _shown(text: str) -> str:
    line = "".join(filter(str.isprintable, " ".join(text.split())))
    return f", as in {line[:SHOWN] + '…' * (len(line) > SHOWN)!r}" if line else ""
