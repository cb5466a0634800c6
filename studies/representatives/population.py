"""Writes episodes of many people of a known kind: laps of the scenario `consensus`, each with people of its own.

A lap is 16 sessions of five people (80 people, written by the model `people`), with three questions each. Training laps
use the questions of the split `train`; the other laps use those of `iid_test` and `ood_test`: for each of the two an
eighth of the number of training laps, at least one. So all episodes can be split into sides that share neither
questions nor people (representation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from parley.agents.persona import set_path
from parley.agents.persona_generator import write_personas
from parley.agents.question import questionnaire
from parley.agents.society import Society, load_society
from parley.analysis.deliberation.episode import Episode, renamed, write_episodes
from parley.analysis.deliberation.run_episodes import episodes_of_run
from parley.analysis.journaled_calls import check_manifest, open_journal
from parley.llm.backends import check_spec, identity_spec, open_spec
from parley.llm.budget import UNLIMITED, SharedBudget
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

TRAINING_LAPS = 8
"""Training laps per lap of held-out questions."""
HELD_OUT = ("iid_test", "ood_test")


def plan(laps: int) -> list[str]:
    """Return the split of each lap's questions, training first. Errors: UserError for less than one lap."""
    if laps < 1:
        raise UserError("--laps must be at least 1")
    return ["train"] * laps + [split for split in HELD_OUT for _ in range(max(1, round(laps / TRAINING_LAPS)))]


def populate(
    laps: int,
    llm: str,
    people: str,
    seed: int,
    folder: Path,
    told: Callable[[str], object],
    spending: SharedBudget = UNLIMITED,
) -> Path:
    """Run the laps in a folder and write episodes.jsonl there; return its path. Finished laps are not run again.

    People of two laps are different people, whatever their number in the set; the questions are the same over all laps.
    Errors: UserError on a folder of other people, another model or seed; if no answer can be read; if the budget is
    spent.
    """
    splits = plan(laps)
    check_spec(llm)
    check_spec(people)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"people": identity_spec(people), "llm": identity_spec(llm), "seed": seed}
    check_manifest(folder / "population.json", manifest, "population (people, model or seed)")
    episodes: list[Episode] = []
    for number, split in enumerate(splits):
        name, lap_seed = f"lap{number:02}", seed * 1000 + number
        personas = _personas(folder / "people" / name, people, lap_seed, spending, load_society())
        settings = {"split": split, "llm": llm, "personas": personas, "seed": lap_seed}
        scenario = load_preset("consensus").with_settings(settings)
        outcome = run_scenario(RunSpec(scenario, folder / name, budget=spending.of(llm), ledger=spending.ledger))
        if outcome.tally.line:
            told(outcome.tally.line)
        if outcome.stopped:
            raise UserError(outcome.stopped)
        lap = episodes_of_run(folder / name)
        told(f"{name}     {split}, {len(lap)} episodes")
        episodes += [renamed(episode, name, name) for episode in lap]
    told(f"items    {answers(episodes)}")
    return write_episodes(episodes, folder / "episodes.jsonl")


def answers(episodes: Sequence[Episode]) -> str:
    """Return which items participants answered about themselves: `age 81%, region 100%; no one answered gender, income`.

    The items are those of the societies that the questions are about.
    """
    people = {
        (episode.session, voice.participant): voice.demographics for episode in episodes for voice in episode.voices
    }
    items = dict.fromkeys(item.name for episode in episodes for item in questionnaire(episode.question.place))
    shares = {name: sum(name in told for told in people.values()) / len(people) for name in items}
    answered = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share)
    unanswered = ", ".join(name for name, share in shares.items() if not share)
    return "; ".join(filter(None, [answered, f"no one answered {unanswered}" if unanswered else ""]))


def _personas(folder: Path, llm: str, seed: int, spending: SharedBudget, society: Society) -> str:
    """Return a lap's set of personas as a path that is no name (`./runs/known/people/lap00`).

    Personas are written if they are missing, with their replies journaled next to the folder.
    """
    if unwritten := [party for party in society.debaters if not (folder / f"{party}.toml").is_file()]:
        folder.mkdir(parents=True, exist_ok=True)
        journal = folder.with_suffix(".sqlite")
        with open_journal(open_spec(llm), journal, spending.of(llm), spending.ledger) as backend:
            for party in unwritten:
                write_personas(party, folder, backend, llm, seed, society)
    return set_path(folder)
