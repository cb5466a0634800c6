"""The participant of a private deliberation: it hears only the mediator, and only the mediator hears it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.agents.agent import DebateAgent
from parley.agents.ballots import RANKING_TOKENS, lettered
from parley.agents.closed_answers import ANSWER_TOKENS, Chosen
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.probe import Probe, in_phrases
from parley.agents.question import POSITION, QuestionnaireItem, agreement_scale, questionnaire
from parley.agents.speech import Rating, Speech
from parley.agents.topic import Topic
from parley.llm.request import Message, Reply, Request, Sampling

STATEMENTS = ("draft", "revision")
"""The forms of a mediator's statements."""


class Participant(DebateAgent):
    """A member of a private deliberation. The member knows how many `people` deliberate, and nothing else about the others.

    position   its first readable agreement with the question's statement (1-7); None before
    said       its opinion and its critique of the draft, by form
    statement  the mediator's last statement
    answers    its answers to the questionnaire, by item
    """

    def __init__(
        self, model: Any, persona: Persona, topic: Topic, people: int, style: Any, adapter: str = "", voice: str = ""
    ):
        opening = topic.language.prompt("deliberation").fill(number=people, question=topic.question)
        super().__init__(model, persona, topic, style, opening, adapter=adapter, voice=voice)
        self._facts["issue"] = topic.question
        self.position: float | None = None
        self.statement: str | None = None
        self.said: dict[str, str] = {}
        self.answers: dict[str, str] = {}
        self._open = False
        self._form = self._about = ""

    @property
    def demographics(self) -> dict[str, str]:
        """Its answers to the questionnaire, without those that it preferred not to give."""
        declined = {item.name: item.answers[-1] for item in questionnaire(self.topic.society)}
        return {name: text for name, text in self.answers.items() if text != declined.get(name)}

    def stand_aside(self) -> None:
        """Leave the critique of the last statement to a representative."""
        self._open = False

    def instruction(self, form: str) -> str:
        return self.topic.language.prompt(form).fill(words=self.style.words)

    def blocked_reason(self, form: str) -> str | None:
        """Return why it cannot be asked; a critique needs a statement that it has not criticised yet."""
        unheard = "no_statement" if form == "critique" and not self._open else None
        return super().blocked_reason(form) or unheard

    def hear(self, name: str, text: str, form: str = "draft") -> None:
        super().hear(name, text, form)
        if form in STATEMENTS:
            self.statement, self._about, self._open = text, form, True

    def compose_speech(self, seed: int, form: str = "opinion") -> Request:
        """Ask for its `opinion`, or for its `critique` of the last statement."""
        self._open, self._form = False, form
        return super().compose_speech(seed, form)

    def absorb_speech(self, reply: Reply) -> Speech:
        speech = super().absorb_speech(reply)
        later = self._form == "critique" and self._about != "draft"
        if speech.text is not None and not later:
            self.said.setdefault(self._form, speech.text)
        return speech

    def absorb_survey(self, reply: Reply, probe: Probe) -> Rating:
        rating = super().absorb_survey(reply, probe)
        if probe.name in (POSITION, in_phrases(POSITION)) and self.position is None:
            self.position = rating.value
        return rating

    def archetype_key(self, probe: Probe) -> str:
        """Return no key, because participants do not share answers."""
        return ""

    def compose_ballot(self, statements: Sequence[str], seed: int, again: bool = False) -> Request:
        """Ask it to rank statements by how far it agrees, on a copy of its memory; ties are allowed. The first time is greedy."""
        text = self.topic.language.prompt("own_ranking").fill(number=len(statements), statements=lettered(statements))
        question = self.topic.language.prompt("reask").fill(survey=text) if again else text
        sampling = Sampling((self.style.survey_temperature or 1.0) if again else 0.0, RANKING_TOKENS)
        return self._request("ballot", self._chat(question), sampling, seed, {"candidates": list(statements)})

    def compose_item(self, item: QuestionnaireItem, seed: int, again: bool = False) -> Request:
        """Ask an item of the questionnaire. The prompt has only persona and item, so the debate cannot affect the answer."""
        question = item.ask(self.topic.language)
        text = self.topic.language.prompt("reask").fill(survey=question) if again else question
        sampling = Sampling(self.style.survey_temperature, ANSWER_TOKENS)
        messages = (self._system, Message("user", text))
        return Request(messages, sampling, seed, item.answers, "questionnaire", "", self.adapter, self.voice)

    def absorb_item(self, reply: Reply, item: QuestionnaireItem) -> Chosen:
        """Read and keep an answer. It is not remembered in the conversation."""
        chosen = item.read(reply.text) if reply.failure is None else Chosen(None, reply.failure.name)
        if chosen.answer is not None:
            self.answers[item.name] = chosen.answer
        return chosen


def agreement_probe(name: str, statement: str, language: Language, phrases: bool = False) -> Probe:
    """Return the survey question on agreement (1-7) with a statement; `name`: draft, revision. phrases: with answers in words."""
    question = language.prompt("agree_statement").fill(statement=statement)
    scale, sentence = agreement_scale(language, phrases)
    return Probe(name, "agreement", scale, question, sentence=sentence, statement=statement, language=language)
