"""PopulationModel: up to a hundred million agents as arrays in one Mesa model, moved by a law of opinion dynamics.

There are no agent objects: every agent is a row. One `step` in order:
1. interventions happen (model/population_interventions.py), and from step 2 on links are rewired (environments/rewiring.py);
2. a feed selects who reads whom (environments/sparse_feeds.py), or people use a social medium (model/population_platform.py);
3. the law moves all opinions (agents/laws/motion.py), with a random stream of its own for each step;
4. the attitudes are recorded, if this step is to be recorded (model/population_record.py);
5. the DataCollector collects.

The class works on Mesa 3.3 and 3.5. Exceptions are raised or collected as in model/debate.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mesa
import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws import Codes, Floats, Law, People, open_law
from parley.agents.laws.base import AXIS
from parley.agents.laws.motion import STUBBORN, Motion
from parley.environments.rewiring import open_population_rewiring
from parley.environments.sparse_feeds import open_feed
from parley.environments.sparse_links import pair_graph
from parley.environments.sparse_platforms import PopulationPlatform, open_platform
from parley.environments.survey_table import Survey
from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import name_of
from parley.llm.seeding import derive
from parley.model import population_setup as setup
from parley.model.interventions.base import ALL
from parley.model.outside_lines import OutsideLines
from parley.model.population_interventions import (
    Happened,
    Message,
    absent_first,
    happened,
    parse_population_interventions,
)
from parley.model.population_network import PopulationNetwork, attitude_names, node_traits
from parley.model.population_platform import PopulationMedium, Visits, choose_act_law
from parley.model.population_record import Columns, population_reporters
from parley.model.stepping import SteppedModel
from parley.model.survey_people import SurveyPeople, draw_people

LARGEST, MOST_DIMENSIONS = 100_000_000, 12


class PopulationModel(SteppedModel):
    """A population of up to a hundred million agents as arrays, moved by a law of opinion dynamics. A Mesa model.

    Parameters
    ----------
    law : str or Law
        The law with its options, such as `"deffuant,epsilon=0.2"` (docs/populations.md has formulas and sources), or
        `"surrogate:FILE"` for one that was fitted to a run.
    graph : str, networkx.Graph or sparse array
        Who hears whom: a graph's name with options, or a graph whose nodes are the agents.
    agents : int
        Number of agents; for a graph of your own, its number of nodes.
    parties : str
        The parties and their initial attitudes (docs/populations.md). Default: those of the law, or evenly over the axis.
    steps : int
        Number of steps after which `running` is False.
    rng : int, optional
        The seed.
    dimensions : int
        Number of opinions of an agent. With several, the law must work in vectors (docs/populations.md).
    until : float, optional
        Stop as soon as no opinion moved more than this in a step, in points of the axis. By default all steps are run.
    recorder : Columns, optional
        Gets the attitudes of each step. By default nothing is recorded.
    collect_errors : bool
        Keep an exception in `error` instead of raising it, for `mesa.batch_run`.
    people : str or Survey, optional
        The survey of which every agent is a respondent: `"FILE,opinion=COLUMN,low=1,high=7"` (docs/populations.md).
    feed : str or PopulationFeed
        Which of the people that one hears are read in a step: `"homophilous,length=5"`. By default all of them.
    rewiring : str or object
        How links change between steps: `"nearer,beyond=2"`. By default they stay.
    interventions : str or iterable
        What happens from outside: `"message round=3 value=8"` (docs/interventions.md).
    platform : str or PopulationPlatform
        The social medium on which people act: `"hot,length=5"` (docs/networks.md). By default people read each other's opinions.

    Attributes
    ----------
    opinions : ndarray, shape (agents,) or (agents, dimensions)
        The current attitudes, on the axis from 0 to 10; of absent agents the last ones, which `shown` leaves out.
    network : PopulationNetwork
        The links, and who is muted or absent.
    happened : list of Happened
        The interventions so far.
    outside : OutsideLines or None
        What messages say.
    medium : PopulationMedium or None
        The posts of a social medium, and who shared them.
    visits : Visits or None
        What people did on it in the last step.
    converged : int or None
        The step in which no opinion moved more than `until`; None if there was none.
    traits : tuple of str
        The attributes of nodes that are used, such as `attitude` or `bound`.
    nodes : list of str
        The names of the nodes of a graph of your own.
    people : SurveyPeople or None
        The respondents of a survey, and which of them each agent is.

    Raises
    ------
    UserError
        A spec, the number of agents or dimensions, or the graph is wrong, or the law does not suit the graph.

    Examples
    --------
    >>> model = parley.PopulationModel("deffuant", agents=1000, steps=5, rng=1)  # doctest: +SKIP
    >>> model.run()  # doctest: +SKIP
    >>> model.datacollector.get_model_vars_dataframe()[["step", "mean", "variance"]]  # doctest: +SKIP
    """

    def __init__(
        self,
        law: str | Law = "deffuant",
        graph: str | nx.Graph | Any = "small_world,degree=10",
        agents: int = 10_000,
        parties: str = "",
        steps: int = 20,
        rng: int | None = None,
        dimensions: int = 1,
        until: float | None = None,
        recorder: Columns | None = None,
        collect_errors: bool = False,
        people: str | Survey | None = None,
        feed: Any = "",
        rewiring: Any = "",
        interventions: str | Iterable[Any] = (),
        platform: Any = "",
    ):
        if not 1 <= agents <= LARGEST:
            raise UserError(f"a population has 1 to {LARGEST:,} agents, not {agents:,}")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise UserError(f"opinions have 1 to {MOST_DIMENSIONS} dimensions, not {dimensions:,}")
        self.root = 0 if rng is None else int(rng)
        super().__init__(self.root, steps, collect_errors)
        self.dimensions, self.until, self.recorder = dimensions, until, recorder
        self.converged: int | None = None
        self.interventions = parse_population_interventions(interventions, steps)
        self._rules = open_feed(feed) if isinstance(feed, str) else feed, open_population_rewiring(rewiring)
        self.happened: list[Happened] = []
        self.outside: OutsideLines | None = None
        self.medium: PopulationMedium | None = None
        self.visits: Visits | None = None
        chosen = setup.choose_graph(graph, agents)
        self.people = self._draw_people(people, chosen, agents, parties)
        self._set_up(open_law(law) if isinstance(law, str) else law, chosen, agents, parties)
        self._open_platform(open_platform(platform) if isinstance(platform, str) else platform)
        self.datacollector = mesa.DataCollector(model_reporters=population_reporters(self))
        self._run_and_collect(self._record_start)

    def _draw_people(
        self, people: str | Survey | None, chosen: setup.ChosenGraph, agents: int, parties: str
    ) -> SurveyPeople | None:
        """Draw the respondents of a survey. Errors: UserError, also where something else says who the agents are."""
        if not people:
            return None
        if parties:
            raise UserError("--people takes the parties from the survey (party=COLUMN), so leave out --parties")
        if held := node_traits(chosen, attitude_names(self.dimensions)):
            raise UserError(
                f"both the nodes of graph {chosen.name} (attribute {next(iter(held))}) and --people give opinions: "
                "use only one of them"
            )
        return draw_people(people, agents, self.dimensions, chosen, self.draws)

    def _set_up(self, law: Law, chosen: setup.ChosenGraph, agents: int, parties: str) -> None:
        """Make parties, links and first opinions, and the law in motion. Errors: UserError."""
        self.nodes = chosen.nodes
        fitted = self.people.parties if self.people else tuple([setup.Party(*party) for party in law.people])
        self.parties = setup.parse_parties(parties) if parties else fitted or chosen.even_parties or setup.ONE_PARTY
        names = tuple([party.name for party in self.parties])
        if self.people:
            self.codes = self.people.codes
        elif chosen.parties:
            self.codes = setup.party_codes(chosen.parties, names)
        else:
            self.codes = setup.draw_parties(self.parties, agents, self.draws("parties"))
        links = setup.build_links(chosen, self.codes, names, self.draws("graph"))
        self.timetable = setup.open_timetable(chosen, self.rounds, rewired=bool(self._rules[1]))
        setup.check_signs(self.timetable.weights if self.timetable else links.data, law, name_of(type(law)))
        self.network = PopulationNetwork(links, *self._rules, law.mutual)
        attitudes = attitude_names(self.dimensions)
        traits = node_traits(chosen, [*attitudes, STUBBORN, *law.reads])
        self.traits = tuple(traits)
        surveyed = self.people.opinions(attitudes) if self.people else {}
        start = setup.initial_opinions(self.parties, self.codes, traits | surveyed, attitudes, self.draws)
        self.opinions = law.admit(start)
        try:
            people = People(self.codes, names, traits)
            self.motion = Motion.start(law, self.opinions, people, self.draws("stubborn"))
            self._start = law, self.opinions, people
            self._prepare_interventions(law, people)
        except ValueError as error:
            raise UserError(f"law {name_of(type(law))}: {error}") from error

    def _prepare_interventions(self, law: Law, people: People) -> None:
        """Check whom interventions name, and prepare absent people and lines from outside. Errors: UserError, ValueError."""
        for intervention in self.interventions:
            intervention.check(self)
        if len(late := absent_first(self.interventions, self)):
            self.network.set_flag("absent", late, True)
        messages = [intervention for intervention in self.interventions if isinstance(intervention, Message)]
        if messages:
            self.outside = OutsideLines.prepare(messages, law, self.motion, self.opinions, people)

    def _open_platform(self, platform: PopulationPlatform | None) -> None:
        """Prepare the social medium, if there is one. Errors: UserError for what cannot go with it."""
        if platform is None:
            return
        if self.dimensions > 1:
            raise UserError("posts on a platform state one opinion: leave out --dimensions")
        if self.network.feed:
            raise UserError("--platform has its own feed, so --feed does not work with it: leave out --feed")
        if self.outside is not None:
            raise UserError("on a platform people read only posts: leave out the message, or --platform")
        drawn = self.draws("activity").standard_normal(len(self.codes))
        self.medium = PopulationMedium(platform, choose_act_law(platform, self.law), len(self.codes), drawn)

    @property
    def law(self) -> Law:
        """The law, as it began."""
        return self.motion.law

    @property
    def graph(self) -> csr_array:
        """Who hears whom, now."""
        return self.network.graph

    @property
    def shown(self) -> Floats:
        """The current attitudes; NaN for absent agents."""
        absent = self.network.absent
        if absent is None or not absent.any():
            return self.opinions
        shown = self.opinions.copy()
        shown[absent] = np.nan
        return shown

    @property
    def over(self) -> bool:
        """True after the last step, after convergence and after an error."""
        return super().over or self.converged is not None

    def _record_start(self) -> None:
        if self.recorder:
            self.open_record(self.recorder)

    def open_record(self, recorder: Columns) -> None:
        """Record who the agents are, and their first opinions."""
        more = {"respondents": self.people.lines} if self.people else {}
        recorder.open(self.codes, [party.name for party in self.parties], self.nodes, **more)
        recorder.write(0, self.shown)

    def addressed(self, names: tuple[str, ...]) -> Codes:
        """Return the agents of these parties, or at these nodes, in order; `all` names all agents. Errors: UserError."""
        if ALL in names:
            return np.arange(len(self.codes))
        parties = [party.name for party in self.parties]
        for name in names:
            if name not in parties and name not in self.nodes:
                raise unknown_name("party or node", name, [*parties, *self.nodes])
        here = np.isin(self.codes, [parties.index(name) for name in names if name in parties])
        here[[self.nodes.index(name) for name in names if name not in parties]] = True
        return np.flatnonzero(here)

    def shift(self, people: Codes, points: Any) -> None:
        """Move the opinions of these people at once; stubborn ones stay."""
        still = self.motion.stubborn
        movers, moved = people if still is None else people[~still[people]], self.opinions.copy()
        shifted = np.clip(moved[movers] + points, *AXIS)
        moved[movers] = self.law.settle(shifted, self.draws("shift", self.round + 1, len(self.happened)))
        self.opinions = moved

    def _next_round(self) -> None:
        before, step = self.opinions, self.round + 1
        self.network.changes = []
        if self.visits is not None:
            self.network.change("remove", *self.visits.unfollowed)
            self.network.change("add", *self.visits.followed)
        if self.timetable and step > 1:
            self.network.follow(self.timetable, step)
        self._intervene(step)
        if self.network.rewiring and step > 1:
            self.network.rewire(self.shown, self.draws("rewiring", step))
        if self.medium:
            self.opinions = self._use_platform(self.medium, step)
        else:
            read = self.network.select(self.shown, self.draws("feed", step))
            self.opinions = self._moved(read, self.draws("step", step))
        self.round = step
        if self.until is not None and self._settled(np.abs(self.opinions - before).max()):
            self.converged = step
        if self.recorder:
            for change in self.network.changes:
                self.recorder.write_links(step, change)
            self.recorder.write(step, self.shown, last=self.over)

    def _intervene(self, step: int) -> None:
        """Let the interventions happen that are due before this step."""
        for number, intervention in enumerate(self.interventions, 1):
            people = intervention.chosen(self) if intervention.due(step) else np.empty(0, dtype=np.int64)
            if self.network.absent is not None and not intervention.reaches_absent:
                people = people[~self.network.absent[people]]
            if len(people):
                self.happened.append(happened(intervention, number, step, people, intervention.act(self, people)))
                if self.recorder:
                    self.recorder.write_intervention(self.happened[-1], people)

    def _moved(self, read: csr_array, generator: np.random.Generator) -> Floats:
        """Return the opinions after the law, with the lines that are heard in this step; absent people keep theirs."""
        before, absent = self.opinions, self.network.absent
        moved = (self.outside or self.motion).step(before, read, generator, self.round)
        if absent is not None and absent.any():
            moved[absent] = before[absent]
        return moved

    def _use_platform(self, medium: PopulationMedium, step: int) -> Floats:
        """Let people act; return their opinions after what they read. Who read nothing keeps its opinion."""
        network, before, size = self.network, self.opinions, len(self.opinions)
        flags = [np.zeros(size, dtype=np.bool_) if mask is None else mask for mask in (network.muted, network.absent)]
        draws = self.draws("platform", step)
        visits = medium.run_round(step, before, network.graph, flags[0] | flags[1], flags[1], self.motion.law, draws)
        self.visits = visits
        network.read = pair_graph(visits.readers, medium.posts.author[visits.posts], size, size)
        lines, places = np.unique(visits.posts, return_inverse=True)
        grades = medium.posts.grade[lines]
        medium.forget_old_posts(step - medium.platform.lasting + 1)
        law, start, people = self._start
        motion = self.motion.with_lines(law, start, people, grades) if len(lines) else self.motion
        graph = pair_graph(visits.readers, size + places.ravel(), size + len(lines), size + len(lines))
        moved = motion.step(np.concatenate((before, grades)), graph, self.draws("step", step), self.round)[:size]
        readers = np.zeros(size, dtype=np.bool_)
        readers[visits.readers] = True
        return np.where(readers, moved, before)

    def _settled(self, largest: float) -> bool:
        """Whether the run has converged: no opinion moved far, and no intervention is to come."""
        coming = any(intervention.every or intervention.round > self.round for intervention in self.interventions)
        return self.until is not None and largest <= self.until and not coming

    def _before_collecting(self) -> None:
        self.trees = self.medium.measure_trees() if self.medium else {}

    def draws(self, *name: object) -> np.random.Generator:
        """Open a named random stream."""
        return np.random.default_rng(derive(self.root, "population", *name))
