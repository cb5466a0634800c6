"""Does the record have the people, links, speakers and events that its scenario fixes?

Things that no chance decides (seats, levels, dates of interventions) have to be the same in every room. Things that chance
decides (drawn levels, degree, homophily, activity) are compared with what is fixed by one number per unit. The unit of links is a
repetition, because a repetition has the same graph on every topic; the unit of drawn traits is a persona.

A control that follows from what was said later looks ahead, and biases the run (Controllable User Simulation 2026, which shows
it for simulators trained on labels of finished conversations). So everything is fixed before the first reply.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import chisquare

from parley.agents.persona import party_of
from parley.agents.traits import DRAWN, PLAIN, level_names, trait_names
from parley.analysis.metrics._network import populations
from parley.analysis.statistics.intervals import ALIKE, Floats, mean_interval, p_of_mean, why_no_interval
from parley.analysis.tables import Tables
from parley.environments.activation import ACTIVATION, Every, Poisson, Share
from parley.environments.graphs import GRAPHS, Blocks
from parley.environments.network import Network
from parley.environments.platform import Platform
from parley.environments.round_table import RoundTable
from parley.model.events import (
    Called,
    Endowed,
    Event,
    Linked,
    Node,
    OwnModel,
    Posed,
    Rated,
    Seated,
    Utterance,
)
from parley.model.scenario import MEDIATOR, Scenario
from parley.model.trait_assignment import ALL_OTHERS, MARK, ByParty, assign_traits, entry_for

KEPT, BROKEN, UNKNOWN = "kept", "not kept", "is unknown"
ALPHA = 0.05
NO_UNITS = "the record has none"


@dataclass(frozen=True)
class Item:
    """A fixed thing. shown, low, high: as a number with a 95% interval where chance decides, else low and high are NaN.

    units: how many `unit`s (room, repetition, persona) were compared. p: that chance alone makes such a difference (NaN: chance
    has no part). verdict: kept, not kept, is unknown; reason: why it is unknown, or what differs.
    """

    what: str
    fixed: str
    shown: str
    units: int
    unit: str
    verdict: str = KEPT
    reason: str = ""
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan


def exact(what: str, fixed: str, pairs: Iterable[tuple[object, object]], unit: str) -> Item:
    """Return an item that is kept only if both values of every pair (fixed, shown; a pair per unit) are the same.

    >>> exact("rounds", "5", [(5, 5), (5, 4)], "room").reason
    '1 of 2 rooms: 4 instead of 5'
    """
    listed = list(pairs)
    wrong = [(wanted, found) for wanted, found in listed if wanted != found]
    shown = f"the same in {len(listed) - len(wrong)} of {len(listed)} {unit}s"
    item = Item(what, fixed, shown, len(listed), unit)
    if not listed:
        return replace(item, verdict=UNKNOWN, reason=NO_UNITS)
    if not wrong:
        return item
    wanted, found = wrong[0]
    return replace(item, verdict=BROKEN, reason=f"{len(wrong)} of {len(listed)} {unit}s: {found} instead of {wanted}")


def sampled(what: str, fixed: float, values: Floats, unit: str) -> Item:
    """Return an item that chance decides: the mean of one number per unit is compared with what is fixed, by Student's t."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Item(what, f"{fixed:.3g}", "–", 0, unit, UNKNOWN, NO_UNITS)
    low, high = mean_interval(known)
    item = Item(
        what, f"{fixed:.3g}", f"{known.mean():.3g}", len(known), unit, low=low, high=high, p=p_of_mean(known - fixed)
    )
    if np.abs(known - fixed).max() < ALIKE:
        return item
    if why := why_no_interval(known, unit):
        return replace(item, verdict=UNKNOWN, reason=why)
    return item


def decide(items: Iterable[Item]) -> list[Item]:
    """Return the items with verdicts on those that chance decides: not kept if p is below 0.05 / their number (Bonferroni)."""
    listed = list(items)
    tested = sum(bool(np.isfinite(item.p)) for item in listed)
    return [
        replace(item, verdict=BROKEN, reason=f"p = {item.p:.2g}") if item.p < ALPHA / max(tested, 1) else item
        for item in listed
    ]


def unknown(what: str, fixed: str, reason: str) -> Item:
    """Return an item about which the record says nothing."""
    return Item(what, fixed, "–", 0, "", UNKNOWN, reason)


LEAST_PERSONAS = 25
FIXED = (Seated, Endowed, OwnModel, Node, Posed)
REPLIES = (Called, Utterance, Rated)
AFTER, BEFORE = "after a reply", "before replies"
ABSENCES = {"leave", "join", "mute", "unmute"}


def makeup(scenario: Scenario, tables: Tables) -> list[Item]:
    """Return an item for each thing that the scenario fixes."""
    people = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["party"] != MEDIATOR)]
    parts = (seat_items, character_items, link_items, activity_items, intervention_items, length_items)
    return decide(item for part in parts for item in part(scenario, tables, people))


def seat_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield repetitions, rounds, parties of each room, and models of parties and seats."""
    keys = (
        ["group"] if scenario.subject.questions else ["topic", "group"]
    )  # questions are drawn anew in each repetition
    groups = people.groupby(keys)["repetition"].nunique()
    yield exact("repetitions", str(scenario.repetitions), ((scenario.repetitions, count) for count in groups), "debate")
    last = tables.utterances.groupby("room")["round"].max().reindex(people["room"].unique(), fill_value=0)
    if not tables.finished:
        yield unknown("rounds", str(scenario.rounds), "the run is not finished")
    elif len(last) and isinstance(scenario.environment, RoundTable):
        yield exact("rounds", str(scenario.rounds), ((scenario.rounds, count) for count in last), "room")
    for group in scenario.groups:
        wanted = dict(Counter(map(party_of, group.seats)))
        rooms = people[people["group"] == group.name].groupby("room")["party"]
        fixed = ", ".join(f"{party} {count}" for party, count in wanted.items())
        title = "people by party" if len(scenario.groups) == 1 else f"people by party, {group.name}"
        yield exact(
            title, fixed, ((wanted, parties.value_counts(sort=False).to_dict()) for _, parties in rooms), "room"
        )


def character_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield believers, roles, confirmation biases and levels of traits."""
    known = [name for name in people if name not in ("room", "agent")]
    given = people.merge(tables.characters.drop(columns=known, errors="ignore"), on=["room", "agent"], how="left")
    share = scenario.people.believers
    if share:
        rooms = given.groupby("room")["belief"]
        wanted = ((max(1, round(share * len(belief))), int((belief == "believer").sum())) for _, belief in rooms)
        yield exact("believers", f"a share of {share:g}", wanted, "room")
    assigned = assign_traits(scenario)
    for title, column, entries, usual in (
        ("roles", "role", assigned.roles, ""),
        ("confirmation bias", "confirmation_bias", assigned.confirmation_bias, PLAIN.confirmation_bias),
    ):
        if entries:
            given[column] = given[column].fillna(usual)
            allowed = [entry or usual for entry in _entries(entries, given)]
            shown = zip(allowed, given[column], strict=True)
            pairs = ((value if value in entry.split(MARK) else entry, value) for entry, value in shown)
            yield exact(title, ", ".join(f"{who or 'all'}: {value}" for who, value in entries.items()), pairs, "agent")
    for who, entry in assigned.traits.items():
        those = [own == entry for own in _entries(assigned.traits, given)]
        yield from _trait_items(who, entry, given[those])


def _entries(by_party: ByParty, given: pd.DataFrame) -> list[str]:
    """Return the entry of each agent."""
    return [entry_for(by_party, seat, party) for seat, party in zip(given["seat"], given["party"], strict=True)]


def _trait_items(who: str, entry: str, given: pd.DataFrame) -> Iterator[Item]:
    """Yield the levels of traits of a party, a seat or all others."""
    name = "" if who == ALL_OTHERS else f" of {who}"
    if entry != DRAWN:
        for trait, level in (part.split("=") for part in entry.split("+")):
            yield exact(f"{trait}{name}", level, ((level, shown) for shown in given[trait]), "agent")
        return
    personas = given.drop_duplicates("persona")
    levels = level_names()
    for trait in trait_names():
        counts = personas[trait].value_counts().reindex(levels, fill_value=0)
        fixed, shown = f"each of {len(levels)} levels by equal chances", ", ".join(map(str, counts))
        if counts.sum() < LEAST_PERSONAS:
            yield unknown(f"{trait}{name}", fixed, f"fewer than {LEAST_PERSONAS} personas")
        else:
            p = float(chisquare(counts).pvalue)
            yield Item(f"{trait}{name}", fixed, shown, int(counts.sum()), "persona", p=p)


def link_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield mean degree and homophily of the graph at the start, of graphs made of blocks."""
    text = str(getattr(scenario.environment, "graph", ""))
    if not text:
        return
    graph = GRAPHS.get(text)
    if not isinstance(graph, Blocks):
        yield unknown("links", text, "degree and homophily are only known for graphs made of blocks")
        return
    first = people.drop_duplicates(["group", "repetition"])["room"]
    rooms = [room for room in populations(tables) if room.room.name in set(first)]
    degrees, shares = [], []
    for room in rooms:
        links, party = room.links(0), room.room.parties.to_numpy()
        degrees.append(len(links.source) / len(party))
        same = party[links.source] == party[links.target]
        shares.append(same.mean() if len(same) and len(set(party)) > 1 else np.nan)
    yield sampled("mean degree", graph.degree, np.array(degrees), "repetition")
    if len(set(people["party"])) > 1:
        yield sampled("links within a party", graph.homophily, np.array(shares), "repetition")


def activity_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield the share of people who speak (or act) in a round."""
    environment = scenario.environment
    if not isinstance(environment, Network | Platform | RoundTable):
        return
    text = str(getattr(environment, "activation", "every"))
    if ABSENCES & {one.kind for one in scenario.interventions}:
        return
    activation, sizes = ACTIVATION.get(text), people.groupby("room").size()
    turns = tables.acts if isinstance(environment, Platform) else tables.utterances
    if (rule := getattr(environment, "rule", "neighbours")) != "neighbours":
        yield unknown("who speaks in a round", text, f"the rule {rule} decides who speaks")
    elif isinstance(activation, Every | Share):
        share = 1.0 if isinstance(activation, Every) else activation.share
        counts = turns.groupby(["room", "round"])["agent"].nunique()
        pairs = ((round(share * sizes[room]), count) for (room, _), count in counts.items())
        yield exact("who speaks in a round", f"a share of {share:g}", pairs, "round")
    elif isinstance(activation, Poisson):
        counts = turns.groupby("room").size().reindex(sizes.index, fill_value=0)
        yield sampled(
            "share who speak in a round", 1 - float(np.exp(-activation.rate)), _share(counts, sizes, scenario), "room"
        )
    else:
        yield unknown("who speaks in a round", text, "this activation fixes no share")


def _share(counts: pd.Series, sizes: pd.Series, scenario: Scenario) -> Floats:
    return np.asarray(counts / sizes / scenario.rounds, dtype=float)


def intervention_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield the rounds and the addressed people of each intervention."""
    rooms, happened = list(people["room"].unique()), tables.interventions
    party = dict(zip(zip(people["room"], people["agent"], strict=True), people["party"], strict=True))
    seat = dict(zip(zip(people["room"], people["agent"], strict=True), people["seat"], strict=True))
    for number, planned in enumerate(scenario.interventions, 1):
        due = [round_ for round_ in range(1, scenario.rounds + 1) if planned.due(round_)]
        own = happened[happened["what"] == planned.kind]
        rounds = own.groupby("room")["round"].agg(set)
        pairs = ((due, sorted(rounds.get(room, set()) & set(due))) for room in rooms)
        title = f"intervention {number}: {planned.kind}"
        yield exact(f"{title}, rounds", ", ".join(map(str, due)), pairs, "room")
        named = set(planned.whom()) - {"all"}
        if named and named <= set(party.values()) | set(seat.values()):
            hit = [
                (row.room, agent)
                for row in own[own["round"].isin(due)].itertuples()
                for agent in json.loads(row.agents)
            ]
            reached = ((", ".join(sorted(named)), ", ".join(sorted(named)) if {party[key], seat[key]} & named else party[key])
                       for key in hit if key in party)  # fmt: skip
            yield exact(f"{title}, people", ", ".join(sorted(named)), reached, "agent")


def length_items(scenario: Scenario, tables: Tables, people: pd.DataFrame) -> Iterator[Item]:
    """Yield the mean length of replies, which is to be at most the number of words that agents are asked for."""
    said = tables.utterances[tables.utterances["text"].notna() & (tables.utterances["form"] == "reply")]
    if not len(said):
        return
    lengths = said["text"].str.split().str.len().groupby(said["room"]).mean()
    most = scenario.speech.words
    item = sampled("words of a reply", most, np.asarray(lengths, dtype=float), "room")
    item = replace(item, fixed=f"at most {most}")
    yield item if lengths.mean() > most else replace(item, verdict=KEPT, reason="", p=np.nan)


def fixed_before_replies(record: Iterable[Event]) -> Item:
    """Return the item: in each room, people, attributes, models and links of the start are recorded before any reply."""
    replied: set[str] = set()
    late: dict[str, str] = {}
    for event in record:
        room = getattr(event, "room", "")
        late.setdefault(room, BEFORE)
        if isinstance(event, FIXED) or (isinstance(event, Linked) and event.round == 0):
            late[room] = AFTER if room in replied else late[room]
        elif event.counted or isinstance(event, REPLIES):
            replied.add(room)
    rooms = ((BEFORE, when) for room, when in late.items() if room in replied)
    return exact("fixed before the first reply", "people, attributes, models, links", rooms, "room")
