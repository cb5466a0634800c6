"""Questions of an interview about what an agent can recall, whose right answers are known from what it lived.

The questions are in interview.toml of a language. Each is about one thing: the persona (`self`), the first own line (`said`), the
first line that it heard (`heard`), its latest plan (`plan`) or its latest insights (`insight`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from parley.agents.language import Language
from parley.agents.memory import INSIGHTS, LINES
from parley.llm.errors import unknown_name

if TYPE_CHECKING:
    from parley.agents.agent import DebateAgent

PLANS = "plans"
FULL, AGAIN = "full", "full again"
WITHOUT = {"without reflection": INSIGHTS, "without planning": PLANS, "without memory": LINES}
"""The part of the memory that each condition leaves out. Without LINES nothing is left: neither lines, insights nor plan."""


class InterviewQuestion(NamedTuple):
    """A question by its name, what it is about (self, said, heard, plan, insight), and its text; {name} is a speaker."""

    name: str
    about: str
    text: str


def interview_questions(language: Language, names: Sequence[str]) -> list[InterviewQuestion]:
    """Return questions by name; `all` are all of the language. Errors: UserError on an unknown name."""
    questions = {name: InterviewQuestion(name, **entry) for name, entry in language.data("interview").items()}
    wanted = list(questions) if list(names) == ["all"] else list(names)
    for name in wanted:
        if name not in questions:
            raise unknown_name("question of an interview", name, [*questions, "all"])
    return [questions[name] for name in wanted]


def conditions_of(agent: DebateAgent) -> list[str]:
    """Return the conditions of an interview that differ for this agent: insights and plans are left out where it writes some."""
    style = agent.style
    used = {INSIGHTS: style.reflect > 0, PLANS: style.plan > 0, LINES: True}
    return [FULL, AGAIN, *[name for name, memory_kind in WITHOUT.items() if used[memory_kind]]]


def asked_and_truth(agent: DebateAgent, question: InterviewQuestion) -> tuple[str, str | None]:
    """Return a question as this agent is asked it, and the right answer; None where it has lived no such thing."""
    memory, heard = agent.memory, agent.memory.first_heard
    if question.about == "heard":
        return question.text.format(name=heard[0] if heard else ""), heard[1] if heard else None
    truths = {
        "self": agent.persona.backstory,
        "said": memory.first_said,
        "plan": agent.plan.text,
        "insight": " ".join(trace.text for trace in memory.insights) or None,
    }
    return question.text, truths[question.about]
