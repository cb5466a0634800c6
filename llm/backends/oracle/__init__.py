"""oracle: the rule-based speaker with a known bias, `--llm oracle[,kappa=..]`

It answers by the purpose of a request (llm/purposes.py). It reads the transcript in the messages and the facts that the prompt
states, and never depends on the wording of a prompt. It keeps no state about agents, and answers in English from its banks. Its
bias, influence and drift are known, so an analysis can be checked: it must recover what was planted. It is no evidence about
people or about large language models.

    backend.py         the backend, and the function that answers each purpose (any other purpose is the failure `unknown_ask`)
    prompt_parser.py   reads a request: persona, topic, lines heard, own lines, the question
    dynamics.py        the planted law of debates: the attitude that follows from what is heard (`move`)
    positions.py       the planted law of deliberations: positions, agreement, and what a text says
    own_topics.py      sentences and numbers for a topic of the user's
    phrases.py         its sentences (banks/), and the grade of a sentence heard
    stance.py          its position; notes, conclusions, summaries
    speech.py          replies, statements, posts, corrections     surveys.py     ratings, questionnaire, interviews
    judging.py         verdicts on what others said                mediation.py   opinions, critiques, statements, rankings
    writing.py         personas, cases, questions
    act_law.py         the planted law of acts on a social medium          acts.py        acts by that law
    self_questions.py  who it is, what it heard, what changed its mind
    belief_network.py  the planted law of a Bayesian hearer, whom appeals move
    emotions.py        feelings by the law of speech_laws.py
    recollection.py    plans, what it recalls, and how it fares: money, spirits, leaving home, and what news changes
    answer_laws.py     planted laws of answers: wording, reminders, the interviewer, a guessed aim of the study
    speech_laws.py     planted laws of public lines: feelings, quotations, tact, messages that persuade
    ignored.py         leaves out what the speaker is planted to ignore
    self_facts.py      reads from a persona who a person is
    persuasion.py      chooses between messages with an aim, by the law of speech_laws.py
    people_laws.py     planted laws of attributes, of groups in surveys, of representatives and of mediators
    attributes.py      sentences on attributes, and their judge

Options: kappa, mu, sigma, epsilon, bias set that parameter for every topic (`--llm oracle,kappa=0,mu=0`); pull is the share of
the gap by which a mediator's statement draws a participant (`--llm oracle,pull=0`). All others plant a law (laws.py), which the
file of the law explains: `--llm oracle,herd=1`. society is whose banks it has, and a
run sets it. manner is how it says its answers (llm/manners.py): `oracle,manner=bold`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from parley.llm.backends import ANY_TOPIC
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.laws import law_options, plant_laws
from parley.llm.backends.oracle.phrases import US, banks
from parley.llm.errors import UserError, unknown_name
from parley.llm.manners import CLOSED


def known_topics(model: str, society: str = US) -> tuple[str, ...]:
    """Return the topics and items of news of a society for which parameters are planted, and `*`: it takes any of the user's."""
    return *banks(society).parameters, ANY_TOPIC


def _open(
    model: str,
    kappa: float | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    bias: float | None = None,
    pull: float | None = None,
    *,
    society: str = US,
    manner: str = "",
    **options: Any,
) -> Oracle:
    """Open the speaker of a society, with these parameters set for every topic. options: those of the laws (laws.py)."""
    if model:
        raise UserError(
            f"oracle:{model} names a model, but there is only one oracle: write --llm oracle, and set its "
            "parameters as in oracle,kappa=0"
        )
    parameters = {"kappa": kappa, "mu": mu, "sigma": sigma, "epsilon": epsilon, "bias": bias}
    planted = {name: value for name, value in parameters.items() if value is not None}
    oracle = Oracle(planted, pull, society, plant_laws(options))
    if manner and manner not in CLOSED:
        raise unknown_name("option manner of oracle", manner, CLOSED)
    oracle.manner = manner
    return oracle


def __getattr__(name: str) -> Any:
    """Return `open_backend`, whose options are those of all laws that are known by now: a study may have been named since.

    `check_options` is the same: opening costs a millisecond, so values are refused before a run begins (level=99).
    """
    if name in ("open_backend", "check_options"):
        return _opener(tuple(law_options()))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _opener(names: tuple[str, ...]) -> Callable[..., Oracle]:
    """Return `_open` with these options of laws by name, since a spec is checked against its signature."""

    @wraps(_open)
    def open_backend(*words: Any, **options: Any) -> Oracle:
        return _open(*words, **options)

    laws, signature = {name: law_options()[name] for name in names}, inspect.signature(_open)
    parameters = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    open_backend.__signature__ = signature.replace(parameters=[*parameters, *laws.values()])  # type: ignore[attr-defined]
    open_backend.__annotations__ = {**_open.__annotations__, **{name: law.annotation for name, law in laws.items()}}
    return open_backend
