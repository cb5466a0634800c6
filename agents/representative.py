"""A digital representative writes the critique that a participant would write (Jarrett et al., section 4, Eq 17).

It can also write the opinion, and rank statements, as the participant would (ours; the study names the opinion as future work).
It always knows the question; for a critique the participant's opinion on it and the group's draft; for a ballot the opinion, and
the participant's last critique if there is one. `knows` adds, in one letter each,
    D  demographics
    O  own opinions on other questions
    C  own critiques of the drafts on other questions
    P  own positions on other questions, as text
The current question is never among the others (ours; the example in the study's Table 2 shows the same question twice).
The sections of the prompt are text files in prompts/representative/ of the language, in our own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from parley.agents.ballots import RANKING_TOKENS, lettered
from parley.agents.language import ENGLISH, REPRESENTATIVE, Language
from parley.agents.probe import scales
from parley.agents.question import Question, questionnaire
from parley.agents.reasoning import Note, plain_note
from parley.agents.society import Society, load_society
from parley.llm.errors import UserError
from parley.llm.prompts import Template
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

KINDS = {"D": "demographics", "O": "opinions", "C": "critiques", "P": "positions"}
OTHERS = 3
"""At most so many other questions are in the prompt (the study: 1 to 3)."""
PROFILE_ITEM = f"{REPRESENTATIVE}/profile_item"
"""How a wording writes an answer to the questionnaire, where it has a form of its own."""
TOKENS = 120
SCALE = "agreement_1_7"
OPINION, CRITIQUE, BALLOT, VOTE = STEPS = ("opinion", "critique", "ballot", "vote")
"""The steps at which a representative can take its member's place: two texts, a ballot on candidates, the final vote."""


@dataclass(frozen=True)
class OtherOpinion:
    """What a participant wrote on another question; None if unknown."""

    question: Question
    opinion: str | None = None
    critique: str | None = None
    position: float | None = None


@dataclass(frozen=True)
class CritiqueBrief:
    """What a representative may know. Errors: ValueError if the current question, by id or words, is among the others.

    opinion, draft: "" where there is none yet. critique: the participant's last critique of a statement on this question.
    """

    question: Question
    opinion: str
    draft: str
    demographics: Mapping[str, str] = field(default_factory=dict)
    others: tuple[OtherOpinion, ...] = ()
    critique: str = ""

    def __post_init__(self) -> None:
        if any(same_question(self.question, other.question) for other in self.others):
            raise ValueError(f"the current question {self.question.id} is among the others")


@dataclass(frozen=True)
class Critique:
    """What a representative wrote, or None and the reason why it is missing."""

    text: str | None
    reason: str = ""


class Representative:
    """Composes the request for an opinion, a critique or a ballot, and reads texts; it does not call the model."""

    def __init__(
        self,
        brief: CritiqueBrief,
        knows: str = "",
        sampling: Sampling | None = None,
        adapter: str = "",
        voice: str = "",
    ):
        self.brief, self.knows, self.adapter, self.voice = brief, parse_knowledge(knows), adapter, voice
        self.sampling = sampling or Sampling(1.0, TOKENS)

    def messages(self) -> tuple[Message, ...]:
        """Return the prompt of a critique: one user message."""
        slots = {"question": self.brief.question.question, "opinion": self.brief.opinion, "draft": self.brief.draft}
        base = _section(self.brief.question.place, "base").fill(
            **{name: knowledge_line(text) for name, text in slots.items()}
        )
        return self._messages(base, _section(self.brief.question.place, "ask").text)

    def _messages(self, *sections: str) -> tuple[Message, ...]:
        return (Message("user", "\n".join([*_profile(self.brief, self.knows), *sections])),)

    @property
    def told(self) -> tuple[str, ...]:
        """The ids of the other questions in the prompt."""
        return tuple(other.question.id for other in self.brief.others[:OTHERS] if _other(other, self.knows, 0))

    def compose_critique(self, seed: int) -> Request:
        """Ask for the critique of the draft."""
        arguments, facts = ((), "critique", "", self.adapter, self.voice), _facts(self.brief, self.knows)
        return Request(self.messages(), self.sampling, seed, *arguments, facts=facts)

    def compose_opinion(self, seed: int, words: int) -> Request:
        """Ask for the opinion in at most `words` words. The participant's own opinion is not in the prompt."""
        section = _question_section(self.brief), _section(self.brief.question.place, "ask_opinion").fill(words=words)
        facts = _facts(self.brief, self.knows) | {"opinion": "", "statement": "", "words": words}
        arguments = ((), "represented_opinion", "", self.adapter, self.voice)
        return Request(self._messages(*section), self.sampling, seed, *arguments, facts=facts)

    def compose_ballot(self, statements: Sequence[str], seed: int, again: bool = False) -> Request:
        """Ask for a ballot on statements, in this order; ties are allowed. The first time is greedy."""
        language, brief = self.brief.question.place.language, self.brief
        slots = {"number": len(statements), "statements": lettered(statements)}
        sections = [_question_section(brief), *_own_texts(brief)]
        text = self._messages(*sections, _section(brief.question.place, "ask_ballot").fill(**slots))[0].content
        question = language.prompt("reask").fill(survey=text) if again else text
        sampling = Sampling((self.sampling.temperature or 1.0) if again else 0.0, RANKING_TOKENS)
        facts = _facts(brief, self.knows) | {
            "critiques": [knowledge_line(brief.critique)] if brief.critique else [],
            "candidates": list(statements),
        }
        arguments = ((), "represented_ballot", "", self.adapter, self.voice)
        return Request((Message("user", question),), sampling, seed, *arguments, facts=facts)

    @staticmethod
    def absorb_text(reply: Reply) -> Critique:
        """Read an opinion or a critique as one line. A failed or empty reply and a refusal are None with a reason."""
        note = Note(None, reply.failure.name) if reply.failure else plain_note(reply.text or "")
        return Critique(note.text, note.reason or "")


def parse_knowledge(letters: str) -> str:
    """Return the letters in the order D, O, C, P. Errors: UserError on any other or a repeated letter.

    >>> parse_knowledge("co"), parse_knowledge("")
    ('OC', '')
    """
    given = letters.upper()
    if len(set(given)) < len(given) or set(given) - set(KINDS):
        raise UserError(
            f"{letters!r} does not name what a representative knows: combine the letters "
            f"{', '.join(f'{key} ({name})' for key, name in KINDS.items())}"
        )
    return "".join(key for key in KINDS if key in given)


def same_question(question: Question, other: Question) -> bool:
    """Return whether two questions are the same, by id or by words (ignoring case and spaces)."""
    return (
        question.id == other.id
        or knowledge_line(question.question).casefold() == knowledge_line(other.question).casefold()
    )


def position_label(position: float, language: Language = ENGLISH) -> str:
    """Return a position score as text: its label, or the number if it is between two points.

    >>> position_label(6), position_label(4.5)
    ('moderately agree', '4.5 of 7')
    """
    labels: Mapping[int, str] = scales(language)[SCALE].labels
    if position == int(position):
        return labels[int(position)]
    return language.fill("of_seven", position=f"{position:g}")


def knowledge_line(text: str) -> str:
    """Return a text as one line, because a new line could be read as another section or another speaker."""
    return " ".join(text.split())


def _facts(brief: CritiqueBrief, knows: str) -> Facts:
    """Return what the prompt states, for the oracle."""
    written = [
        (other.opinion if "O" in knows else None, other.critique if "C" in knows else None) for other in brief.others
    ]
    return {
        "issue": knowledge_line(brief.question.question),
        "opinion": knowledge_line(brief.opinion),
        "statement": knowledge_line(brief.draft),
        "earlier": [knowledge_line(text) for texts in written[:OTHERS] for text in texts if text is not None],
        "stated": [
            (knowledge_line(other.question.question), knowledge_line(other.opinion))
            for other in brief.others[:OTHERS]
            if "O" in knows and other.opinion is not None
        ],
        "rated": [
            (knowledge_line(other.question.question), other.position)
            for other in brief.others[:OTHERS]
            if "P" in knows and other.position is not None
        ],
    }


def _profile(brief: CritiqueBrief, knows: str) -> Iterator[str]:
    """Yield the sections on the role and the person: the questionnaire, and other questions."""
    society = brief.question.place
    yield _section(society, "role").text
    if "D" in knows and brief.demographics:
        yield _section(society, "demographics").fill(profile=profile_text(brief.demographics, society))
    for number, other in enumerate(brief.others[:OTHERS], 1):
        yield from _other(other, knows, number)


def _question_section(brief: CritiqueBrief) -> str:
    return _section(brief.question.place, "question").fill(question=knowledge_line(brief.question.question))


def _own_texts(brief: CritiqueBrief) -> Iterator[str]:
    """Yield the sections on what the participant wrote on this question."""
    if brief.opinion:
        yield _section(brief.question.place, "opinion").fill(opinion=knowledge_line(brief.opinion))
    if brief.critique:
        yield _section(brief.question.place, "critique").fill(critique=knowledge_line(brief.critique))


def _section(society: Society, name: str) -> Template:
    return society.language.prompt(f"{REPRESENTATIVE}/{name}")


def profile_text(demographics: Mapping[str, str], society: Society) -> str:
    """Return `gender (woman), political leaning (left of centre)`, by titles and in the order of the questionnaire."""
    items = [item for item in questionnaire(load_society(society.name)) if item.name in demographics]
    if society.language.has(PROFILE_ITEM):
        form = society.language.prompt(PROFILE_ITEM)
        return " ".join(form.fill(title=item.title, answer=knowledge_line(demographics[item.name])) for item in items)
    return ", ".join(f"{item.title} ({knowledge_line(demographics[item.name])})" for item in items)


def _other(other: OtherOpinion, knows: str, number: int) -> Sequence[str]:
    """Return the sections on one other question, which some wordings number; none if nothing that it may know is known."""
    sections, society = list[str](), other.question.place

    def fill(name: str, **slots: str) -> str:
        section = _section(society, name)
        return section.fill(**slots, **({"number": number} if "number" in section.slots else {}))

    if "P" in knows and other.position is not None:
        label = position_label(other.position, society.language)
        sections.append(fill("other_position", position=label))
    if "O" in knows and other.opinion is not None:
        sections.append(fill("other_opinion", opinion=knowledge_line(other.opinion)))
    if "C" in knows and other.critique is not None:
        sections.append(fill("other_critique", critique=knowledge_line(other.critique)))
    head = fill("other", question=knowledge_line(other.question.question))
    return [head, *sections] if sections else []
