"""oracle: the known-truth speaker. A rule-based language backend with stated parameters (banks/parameters.toml).

It reads the messages it is sent and nothing else, keeps no state about who asks, and answers in English from its banks. What
is planted is known, so an analysis can be checked: planted bias, influence and drift in, recovered ones out. It is no
evidence about people or about large language models.

    reading.py   what it was sent: persona, topic, lines heard, the question
    mind.py      the attitude that follows from it (the planted truth)
    banks.py     its sentences, and the grade of a sentence that it reads
    civic.py     where it stands on any divisive question, what it cares about, how it habitually writes
    asks/        one file per kind of question; a question that no file knows is the named failure `unknown_ask`

Options: kappa, mu, sigma, epsilon, bias set that parameter for every topic (`--llm oracle,kappa=0,mu=0`); pull is how far a
mediator's statement draws who hears it (`--llm oracle,pull=0`).
"""

from __future__ import annotations

from parley.llm.backends.oracle.banks import data
from parley.llm.backends.oracle.speaker import Oracle
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
