"""A short debate between people of known position and party.

Two people of opposite positions talk. Their personas state a name, a party and one position, and nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path

from parley.agents.persona import set_path
from parley.agents.planted_people import FILE, WORDINGS, planted_people
from parley.agents.topic import Topic, load_topic
from parley.analysis.formatting import count_table, format_number
from parley.analysis.metrics import broken_replies
from parley.analysis.qualify.measures import values
from parley.analysis.qualify.questions import NUMBERS, Battery
from parley.analysis.tables import Tables, load
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.model.files import write_whole
from parley.model.placement import one_worker
from parley.model.progress import Progress
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

ROOMS, ROUNDS = 4, 2
"""With eight speakers at two ends, the lines can be dealt in 70 ways: a perfect agreement has a P of .014."""
PEOPLE, DEBATE = "people", "debate"


def debate_scenario(battery: Battery, spec: str, folder: Path, way: str = NUMBERS) -> Scenario:
    """Return the scenario of the short debate, asked in a way of WAYS; its personas are written into the folder."""
    topic = load_topic(battery.topics[0])
    write_people(topic, folder / PEOPLE)
    settings = {
        "llm": spec,
        "society": topic.society.name,
        "topic": battery.topics[:1],
        "personas": set_path(folder / PEOPLE),
        "repetitions": ROOMS,
        "reference": "",
        "rounds": ROUNDS,
        "seed": battery.seed,
        "asked": way,
    }
    return load_preset("two_way", settings)


def write_people(topic: Topic, folder: Path) -> None:
    """Write a set of personas: ROOMS people of each debater's party, at the end of the axis on which their party is."""
    folder.mkdir(parents=True, exist_ok=True)
    stated = [person for person in planted_people(topic, 0) if person.wording == WORDINGS[0]]
    begin = str(topic.language.data(FILE)["supporter"])
    for party in topic.society.debaters:
        description, place = topic.society.parties[party], -1 if party == high_side(topic) else 0
        if len(description.names) < ROOMS:
            raise UserError(
                f"the party {party} needs {ROOMS} first names for a short debate: add names = [...] to its file"
            )
        lines = []
        for name in description.names[:ROOMS]:
            backstory = f"{begin.format(name=name, person=description.person)} {stated[place].view}"
            values = {"id": f"{party}_{name}", "name": name, "backstory": backstory}
            lines += [
                "[[persona]]",
                *[f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()],
                "",
            ]
        write_whole(folder / f"{party}.toml", "\n".join(lines))


def high_side(topic: Topic) -> str:
    """Return the debater whose people state the high position: the party that rates higher, else the second one."""
    return topic.high_party if topic.high_party in topic.society.debaters else topic.society.debaters[1]


def run_debate(
    battery: Battery, spec: str, folder: Path, budget: Budget, backend: Backend | None = None, way: str = NUMBERS
) -> Tables:
    """Run the short debate in a folder of its own; return its tables. Errors: UserError where the budget is spent.

    way: that which serves the model.
    """
    scenario = debate_scenario(battery, spec, folder, way)
    with one_worker(), Progress(scenario) as progress:
        task = RunSpec(scenario, folder / DEBATE, (), budget._replace(keep_going=True))
        outcome = run_scenario(task, progress.calls, progress.step, backend)
    if outcome.stopped:
        raise UserError(outcome.stopped)
    return load(folder / DEBATE)


def debate_sentences(tables: Tables) -> list[str]:
    """Return how a short debate went: where ratings began, which replies are missing, and what is wrong with the others."""
    faults = broken_replies.compute(tables)
    turns = int(faults["turns"].sum())
    if not turns:
        return ["The short debate has no replies."]
    lost = tables.utterances["reason"].dropna()
    begun = tables.attitudes[tables.attitudes["round"] == 0]
    means = begun.assign(value=values(begun.rename(columns={"expected": "mean"}))).groupby("party")["value"].mean()
    high = high_side(load_topic(tables.topics[0]))
    low = next(party for party in means.index if party != high)
    return [
        f"Before the short debate, the mean rating of people at the high end of the axis is "
        f"{format_number(means[high], 1)}, and the mean rating of people at the low end is {format_number(means[low], 1)}.",
        f"{len(lost)} of {turns} replies are missing{f' ({count_table(lost)})' if len(lost) else ''}.",
        broken_replies.headline(faults) or "Nothing else is wrong with the replies.",
    ]
