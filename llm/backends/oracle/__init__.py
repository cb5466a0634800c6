"""oracle: the known-truth speaker. A rule-based language backend with stated parameters (banks/parameters.toml).

It answers by the purpose of a request (llm/purposes.py), reads the transcript in its messages and the facts that the prompt
states, and never the wording of a prompt. It keeps no state about who asks, and answers in English from its banks. What is
planted is known, so an analysis can be checked: planted bias, influence and drift in, recovered ones out. It is no evidence about
people or about large language models.

    backend.py         the backend, and which function answers which purpose (any other one is the named failure `unknown_ask`)
    prompt_parser.py   what it was sent: persona, topic, lines heard, own lines, the question
    dynamics.py        the attitude that follows from it (the planted truth)
    phrases.py         its sentences (banks/), and the grade of a sentence that it reads
    deliberation.py    where it stands on any divisive question, what it cares about, how it habitually writes
    stance.py          where it stands in whatever it takes part in
    speech.py          replies, statements, posts, corrections     surveys.py     ratings, questionnaire, interviews
    reasoning.py       notes to oneself, conclusions, summaries    mediation.py   opinions, critiques, statements, rankings
    judging.py         verdicts on what others said                writing.py     personas, cases, questions

Options: kappa, mu, sigma, epsilon, bias set that parameter for every topic (`--llm oracle,kappa=0,mu=0`); pull is how far a
mediator's statement draws who hears it (`--llm oracle,pull=0`).
"""

from __future__ import annotations

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import data
from parley.llm.errors import UserError


def known_topics(model: str) -> tuple[str, ...]:
    """The topics and items of news on which something is planted."""
    return tuple(data("parameters")["topics"])


def open_backend(
    model: str,
    kappa: float | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    bias: float | None = None,
    pull: float | None = None,
) -> Oracle:
    """`--llm oracle[,kappa=..]`."""
    if model:
        raise UserError(f"oracle:{model} names a model, but there is one oracle; a parameter is set by oracle,kappa=0")
    given = {"kappa": kappa, "mu": mu, "sigma": sigma, "epsilon": epsilon, "bias": bias}
    return Oracle({name: value for name, value in given.items() if value is not None}, pull)
