"""The people of a population from a survey: every agent has the opinions and the party of one respondent.

Respondents are drawn by their weights, systematically: the agents are spread evenly over the sum of all weights, from a random
start, and then put in random order. So a respondent with a weight of 2 has twice as many agents as one of 1, to within one
agent, and with equal weights and as many agents as respondents every respondent is there once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parley.agents.laws import Codes, Floats
from parley.agents.laws.base import AXIS
from parley.environments.survey_table import Respondents, Survey, open_survey
from parley.llm.errors import UserError
from parley.model.population_setup import ONE_PARTY, ChosenGraph, Party, party_codes


@dataclass(frozen=True)
class SurveyPeople:
    """The agents of a population as respondents of a survey.

    rows: (agents,) the place of each agent's respondent in `respondents`. opinions: the column of the survey of each
    dimension.
    """

    survey: Survey
    respondents: Respondents
    parties: tuple[Party, ...]
    codes: Codes
    rows: Codes

    def opinions(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return (agents,) the first opinions by name of the dimension."""
        return {name: self.respondents.opinions[self.rows, place] for place, name in enumerate(names)}

    @property
    def lines(self) -> Codes:
        """(agents,) the number of each agent's respondent in the file, from 1."""
        return self.respondents.lines[self.rows]


def draw_people(
    spec: str | Survey, agents: int, dimensions: int, graph: ChosenGraph, stream: Callable[..., np.random.Generator]
) -> SurveyPeople:
    """Draw the people of a population from a survey.

    If the nodes of the user's graph have parties, each node gets a respondent of its party. stream: returns the generator
    of a name. Errors: UserError.
    """
    survey = open_survey(spec)
    _check_columns(survey, dimensions)
    respondents, generator = survey.read(), stream("people")
    kinds = respondents.kinds
    if not graph.parties:
        rows = draw_rows(respondents.weights, agents, generator)
        codes = respondents.codes[rows]
    elif not kinds:
        raise UserError(f"the nodes of graph {graph.name} have parties: add party=COLUMN to --people")
    else:
        codes = party_codes(graph.parties, kinds, "--people")
        rows = _draw_by_party(respondents, codes, generator)
    parties = tuple([Party(name, share, AXIS) for name, share in respondents.shares.items()]) or ONE_PARTY
    return SurveyPeople(survey, respondents, parties, codes, rows)


def _check_columns(survey: Survey, dimensions: int) -> None:
    """Errors: UserError if the survey does not have an opinion for each dimension, or names a variant."""
    if len(survey.opinion) != dimensions:
        columns = f"({','.join(f'COLUMN{number + 1}' for number in range(dimensions))})" if dimensions > 1 else "COLUMN"
        raise UserError(
            f"--people {survey.file}: opinion names {len(survey.opinion)} of the {dimensions} opinions of an agent: "
            f"write opinion={columns},low=ANSWER,high=ANSWER, or set --dimensions"
        )
    if survey.variant:
        raise UserError(
            f"--people {survey.file}: agents of a population have no variant of a persona: leave out variant=COLUMN"
        )


def draw_rows(weights: Floats, size: int, generator: np.random.Generator) -> Codes:
    """Return (size,) places of respondents, drawn by weight, in random order. weights: (n,) above 0."""
    bounds = np.cumsum(weights)
    points = (np.arange(size) + generator.random()) / size
    rows = np.searchsorted(bounds / bounds[-1], points, side="right")
    return generator.permutation(np.minimum(rows, len(weights) - 1))


def _draw_by_party(respondents: Respondents, codes: Codes, generator: np.random.Generator) -> Codes:
    """Return (agents,) places of respondents: for each agent one of its party. codes: (agents,)."""
    rows = np.empty(len(codes), dtype=np.int64)
    for code in range(len(respondents.kinds)):
        members, pool = codes == code, np.flatnonzero(respondents.codes == code)
        rows[members] = pool[draw_rows(respondents.weights[pool], int(members.sum()), generator)]
    return rows


def compare_means(people: SurveyPeople) -> Iterator[list[str]]:
    """Yield rows of texts: an opinion or a party, its weighted mean or share in the survey, and that of the agents."""
    respondents, size = people.respondents, len(people.rows)
    means = np.average(respondents.opinions, axis=0, weights=respondents.weights)
    drawn = respondents.opinions[people.rows].mean(axis=0)
    for name, mean, agents in zip(people.survey.opinion, means, drawn, strict=True):
        yield [f"mean of {name}", f"{mean:.3f}", f"{agents:.3f}"]
    for code, (name, share) in enumerate(respondents.shares.items()):
        yield [f"share of {name}", f"{share:.3f}", f"{(people.codes == code).sum() / size:.3f}"]
