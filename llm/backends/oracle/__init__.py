"""oracle: the rule-based speaker with a known bias. `--llm oracle[,kappa=..]`, parameters in oracle/parameters.toml of a society

It answers by the purpose of a request (llm/purposes.py). It reads the transcript in the messages and the facts that the prompt
states, and never depends on the wording of a prompt. It keeps no state about agents, and answers in English from its banks. Its
bias, influence and drift are known, so an analysis can be checked: it must recover what was planted. It is no evidence about
people or about large language models.

    backend.py         the backend, and the function that answers each purpose (any other purpose is the failure `unknown_ask`)
    prompt_parser.py   reads a request: persona, topic, lines heard, own lines, the question
    dynamics.py        the planted truth: the attitude that follows, in a debate and in a deliberation
    phrases.py         its sentences (banks/), and the grade of a sentence heard
    stance.py          where it stands; notes, conclusions, summaries
    speech.py          replies, statements, posts, corrections     surveys.py     ratings, questionnaire, interviews
    judging.py         verdicts on what others said                mediation.py   opinions, critiques, statements, rankings
    writing.py         personas, cases, questions
    act_law.py         the planted law of acts on a social medium          acts.py        acts by that law
    self_questions.py  who it is, what it heard, what changed its mind
    emotion_law.py     the planted law by which feelings spread           emotions.py    feelings by that law
    herding.py         choices one after another, by the law of social_learning.py; a planner, by that of steering.py
    corrections.py     replies to posts with false claims, by correction_law.py, and what a judge says of such replies
    self_facts.py      reads from a persona who somebody is

Options: kappa, mu, sigma, epsilon, bias set that parameter for every topic (`--llm oracle,kappa=0,mu=0`); pull is the share of
the gap by which a mediator's statement draws a participant (`--llm oracle,pull=0`); herd and homophily are those of acts
<<<<<<< HEAD
(`--llm oracle,herd=1`), and repost and follow are the constants of these two acts (`--llm oracle,repost=-1,follow=1`); contagion
and volatility are those of feelings (`--llm oracle,contagion=.2`). own, public and noise say how it chooses between two options
after others (`--llm oracle,own=2`): the weights of its own signal and of the public belief (1: a Bayesian's), and the noise of
its choice (0: none). society is whose banks it has, and a run sets it.
=======
(`--llm oracle,herd=1`); contagion and volatility are those of feelings (`--llm oracle,contagion=.2`). own, public and noise say
how it chooses between two options after others (`--llm oracle,own=2`): the weights of its own signal and of the public belief (1:
a Bayesian's), and the noise of its choice (0: none). quotes and fabricates are the
probabilities that a corrector quotes a passage which it is shown, and that it invents a quotation. society is whose banks it
has, and a run sets it.
>>>>>>> corrector
"""

from __future__ import annotations

import math

from parley.llm.backends.oracle.act_law import CONSTANTS, HERD, HOMOPHILY, ActLaw
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.correction_law import USUAL, CorrectionLaw
from parley.llm.backends.oracle.emotion_law import EmotionLaw
from parley.llm.backends.oracle.phrases import US, banks
from parley.llm.backends.oracle.social_learning import Person
from parley.llm.errors import UserError


def known_topics(model: str, society: str = US) -> tuple[str, ...]:
    """Return the topics and items of news of a society for which parameters are planted."""
    return tuple(banks(society).parameters)


def open_backend(
    model: str,
    kappa: float | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    bias: float | None = None,
    pull: float | None = None,
    herd: float = HERD,
    homophily: float = HOMOPHILY,
    repost: float = CONSTANTS["repost"],
    follow: float = CONSTANTS["follow"],
    own: float = 1.0,
    public: float = 1.0,
    noise: float = 0.0,
    contagion: float = 0.0,
    volatility: float = 0.0,
    quotes: float = USUAL.quotes,
    fabricates: float = USUAL.fabricates,
    society: str = US,
) -> Oracle:
    """Open the speaker of a society, with these parameters set for every topic."""
    if model:
        raise UserError(
            f"oracle:{model} names a model, but oracle has only one: write --llm oracle, "
            "and set parameters as in oracle,kappa=0"
        )
    changes = {"kappa": kappa, "mu": mu, "sigma": sigma, "epsilon": epsilon, "bias": bias}
    if not (math.isfinite(own) and math.isfinite(public) and 0 <= noise < math.inf):
        raise UserError(
            "oracle: own, public and noise must be finite numbers, and noise at least 0, as in oracle,own=2,noise=1"
        )
    if not (0 <= quotes <= 1 and 0 <= fabricates <= 1):
        raise UserError("oracle: quotes and fabricates must be from 0 to 1, as in oracle,quotes=0")
    emotions, corrections = EmotionLaw(contagion, volatility), CorrectionLaw(quotes, fabricates)
    emotions.check()
    planted = {name: value for name, value in changes.items() if value is not None}
<<<<<<< HEAD
    acts = ActLaw(homophily, herd, CONSTANTS | {"repost": repost, "follow": follow})
    return Oracle(planted, pull, society, acts, Person(own, public, noise), emotions)
=======
    chooser = Person(own, public, noise)
    return Oracle(planted, pull, society, ActLaw(homophily, herd), chooser, emotions, corrections)
>>>>>>> corrector
