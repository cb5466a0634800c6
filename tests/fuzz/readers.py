"""Every public reader of a model's reply, by name: what the tests time on long texts and the fuzzer feeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from parley.agents import acts, evidence, fact_checker, persuasion, reasoning, reply_cleaning, respondent
from parley.agents.act_names import ACTS
from parley.agents.closed_answers import OPTIONS, read_choice, read_number
from parley.agents.language import ENGLISH, load_language
from parley.agents.memory import relevance
from parley.agents.persona_generator import validation_error
from parley.agents.probe import scales
from parley.agents.question import Question
from parley.agents.question_generator import parse_question, question_problem
from parley.agents.scales import read_rating
from parley.agents.social_choice import read_ranking
from parley.agents.topic import load_topic
from parley.analysis import judging
from parley.analysis.judging import load_rubric
from parley.llm.request import Message, Reply
from parley.llm.thinking import split_thinking
from parley.studies.arena.writer import read_advice
from parley.studies.corrections.corrector import read_correction
from parley.studies.herding.members import HerdPlanner
from parley.studies.stereotypes.survey import answer_problem
from parley.training.tuning import dataset
from parley.training.tuning.interviews import word_runs

GERMAN = load_language("de")
RACISM = load_topic("racism")
NUMERIC, LABELLED = scales()["severity_0_10"], scales()["severity_labelled"]
OTHERS = reply_cleaning.speaks_for(("Bob", "Carla"))
CHECKER = fact_checker.FactChecker("Checker", 60, "")
PLANNER = HerdPlanner(ENGLISH, None, (0.6, 0.7), 0.6, 1.0, "right")  # type: ignore[arg-type]  # nothing is asked
PERSONA = (Message("system", "You are Ann, a 44-year-old nurse."), Message("assistant", "I like it."))
RUBRICS = ("judge", "preferred")
OFFERED = tuple(ACTS)


def judge(rubric: judging.Rubric, text: str) -> object:
    """Read a verdict."""
    return judging.read_reply(rubric, Reply(text))


READERS: dict[str, Callable[[str], object]] = {
    "thinking": split_thinking,
    "cut_echo": lambda text: reply_cleaning.cut_echo(text, RACISM, "Ann"),
    "clean_speech": lambda text: reply_cleaning.clean_speech(text, "Ann", OTHERS),
    "clean_speech after a colon": lambda text: reply_cleaning.clean_speech(f"Well: {text}", "Ann", OTHERS),
    "is_refusal": reply_cleaning.is_refusal,
    "is_refusal as an AI": lambda text: reply_cleaning.is_refusal(f"As an AI model I can't {text}"),
    "shortened": lambda text: reply_cleaning.shortened(text, 40, "sentence"),
    "rating": lambda text: read_rating(text, NUMERIC),
    "rating of a label": lambda text: read_rating(text, LABELLED),
    "rating of paper": lambda text: read_rating(text, NUMERIC, "paper"),
    "act": lambda text: acts.read_act(text, OFFERED),
    "act like": lambda text: acts.read_act(f"like {text}", OFFERED),
    "German act": lambda text: acts.read_act(text, OFFERED, GERMAN),
    "number of a post": lambda text: read_number(text, (1, 2, 3)),
    "option": lambda text: read_choice(text, OPTIONS),
    "option A": lambda text: read_choice(f"I choose A {text} B", OPTIONS),
    "choice": lambda text: persuasion.read_choice(Reply(text)),
    "message": lambda text: persuasion.read_message(Reply(text)),
    "advice": lambda text: read_advice(Reply(text), 3),
    "ranking": lambda text: read_ranking(text, 4),
    "letter of a poll": lambda text: respondent.read_option(Reply(text), ["Tea", "Coffee"]),
    "questionnaire": lambda text: read_choice(text, ("woman", "man", "no answer")),
    "note": reasoning.plain_note,
    "labelled note": lambda text: reasoning.labelled_parts(text, ("Belief", "Desire"), ("belief", "desire")),
    "insights": reasoning.read_insights,
    "citation": lambda text: reasoning.cited_numbers(text, 5),
    "quotations": evidence.read_quotations,
    "quoted": lambda text: evidence.is_quoted(text, evidence.plain(text)),
    "paragraphs": evidence.split_paragraphs,
    "sources": lambda text: evidence.name_sources(text, ()),
    "fact check": lambda text: CHECKER.read(Reply(text), ("Bob",), ENGLISH),
    "correction": lambda text: read_correction(Reply(text)),
    "precision": lambda text: PLANNER.absorb(Reply(text)),
    "life interview": lambda text: answer_problem(Reply(text), PERSONA, ENGLISH),
    "backstory": lambda text: validation_error(Reply(f"You are Ann. {text}"), "Ann", ENGLISH),
    "generated question": lambda text: parse_question(text, ["pets"]),
    "question": lambda text: question_problem(Question("", text, text, text, "pets")),
    "interview questions": dataset.parse_questions,
    "quoted runs": word_runs,
    "relevance": lambda text: relevance("dark bread", [text, "white bread"]),
    **{f"judge {name}": partial(judge, load_rubric(name)) for name in RUBRICS},
}
