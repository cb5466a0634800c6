"""fact_check: these agents hear a correction. Its text is given, or a model writes it from the latest lines.

text   the correction; or
llm    the model (a spec, as on the command line) that writes it before the round, from the room's public lines
lines  how many of the latest lines it reads (12); before round 1 there are none, and no correction is said (`nothing_said`)
words  the length that is asked for (40)
evidence  a folder of .txt and .md files: the model is shown the passages most like these lines, and is asked to quote them
passages  how many passages it is shown (3)

The checker is no agent of the room: it has no persona and no memory, reads no private lines and is not surveyed. Its call is
journaled like any other, and recorded as a call of agent 0. A correction that it does not write is missing with a reason:
`nothing_to_correct`, a refusal, or the name of a failure. With evidence, code compares each quotation with the passage whose
number follows, word for word: a correction with a quotation that is not there is not said (`false_quotation`). Where no passage
has a word in common with the lines, the checker is not asked (`no_evidence`). Without evidence it does not look up any facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from parley.agents.evidence import ELSEWHERE, FABRICATED, Evidence, Passage, load_evidence, name_sources
from parley.agents.fact_checker import FactChecker
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.file_cache import read_once
from parley.llm.seeding import derive
from parley.model.events import Event
from parley.model.interventions.base import Act, Intervention, Saying, View, check_line, line_events
from parley.model.room import LATEST, RoomState, record_call

CHECKER = 0
"""The agent of the checker's calls. A room with a checker has no mediator."""


@dataclass(frozen=True, kw_only=True)
class FactCheck(Saying):
    """A correction by "Fact Check". Its text is given, or a model writes it from the latest public lines.

    Without `evidence` the model does not look up any facts.

    Parameters
    ----------
    text : str
        The correction; or leave it out and give `llm`.
    llm : str
        The model that writes the correction, such as `"oracle"`.
    lines : int
        How many of the latest lines the model reads.
    words : int
        Most words of the correction.
    evidence : str
        A folder of texts: the model is shown passages of it and quotes them; quotations are checked word for word.
    passages : int
        How many passages the model is shown.
    by : str
        The name of the speaker.
    value : float, optional
        The attitude that the line argues for, from 0 to 10. Surrogates respond to it in place of the text.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        Both of `text` and `llm` are given, or neither, or a number is out of range.

    Examples
    --------
    >>> FactCheck(round=3, llm="oracle").kind
    'fact_check'
    """

    wordless: ClassVar[str] = "a fact check writes or says a text: use message with value=0 to 10"
    by: str = "Fact Check"
    text: str = ""
    llm: str = ""
    lines: int = 12
    words: int = 40
    evidence: str = ""
    passages: int = 3

    def __post_init__(self) -> None:
        Intervention.__post_init__(self)
        if bool(self.text) == bool(self.llm):
            raise UserError("fact_check needs a text: give text='...', or name the model that writes it with llm=SPEC")
        if self.llm and self.value is not None:
            raise UserError("fact_check: leave out value with llm=SPEC, because the text is not known before the run")
        if self.evidence and not self.llm:
            raise UserError(
                "fact_check: evidence only works if a model writes the correction: give llm=SPEC instead of text"
            )
        if self.passages < 1:
            raise UserError("fact_check: passages must be at least 1")
        if not 1 <= self.lines <= LATEST or self.words < 1:
            raise UserError(f"fact_check: lines must be between 1 and {LATEST}, and words must be at least 1")
        check_line(self.kind, self.by, self.text or "written")
        self.check_value()

    @property
    def voice(self) -> str:
        """The name by which requests ask for the model; "" where the text is given."""
        return identity_spec(self.llm) if self.llm else ""

    def converse(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Conversation[list[Act]]:
        if not self.llm:
            return list(self.act(room, agents, attitude))
        lines = list(room.public_lines)[-self.lines :]
        if not lines:
            return [Act(agents, None, self.by, "nothing_said")]
        shown = self._find([text for _, text in lines])
        if self.evidence and not shown:
            return [Act(agents, None, self.by, "no_evidence")]
        calls: list[Event] = []
        checker, member = FactChecker(self.by, self.words, self.voice), next(iter(room.members.values()))
        seed = derive(room.context.seed, room.id, "check", self.by, room.round)
        request = checker.compose(member.topic, member.style.frame, lines, seed, shown)
        reply = yield from ask(request)
        record_call(calls, room, CHECKER, request, reply)
        text, reason, _ = checker.read(reply, [other.name for other in room.members.values()], member.topic.language)
        if text and self.evidence:
            text, reason = self._with_sources(text, shown)
        act = line_events(room, agents, self.by, text) if text else Act(agents, None, self.by, reason)
        return [act._replace(events=tuple(calls))]

    def _find(self, texts: Sequence[str]) -> list[Passage]:
        """Return the passages most like the lines; none without evidence."""
        return open_evidence(self.evidence).search(" ".join(texts), self.passages) if self.evidence else []

    def _with_sources(self, text: str, shown: Sequence[Passage]) -> tuple[str | None, str | None]:
        """Return the correction with the sources of its quotations, or None and the reason."""
        quoted = open_evidence(self.evidence).check(text, shown)
        if any(quotation.kind in (FABRICATED, ELSEWHERE) for quotation in quoted):
            return None, "false_quotation"
        return name_sources(text, shown), None


@read_once(Path)
def open_evidence(folder: str) -> Evidence:
    """Return the passages of a folder, read once. Errors: UserError without a passage."""
    return load_evidence(Path(folder))
