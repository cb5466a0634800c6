"""Episodes of many people of a known kind: laps of the scenario `consensus`, each with people of its own.

A lap is 16 sessions of five (80 people, written by the model named `people`), three questions each. Questions of
training laps are those of the split `train`, of the others those of `iid_test` and `ood_test` in turn, so that the
whole can be split into sides that share neither questions nor people (representation.py): an eighth of the training
laps, at least one, for each of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from parley.agents.persona_generator import write_personas
from parley.agents.question import questionnaire
from parley.analysis.deliberation.episode import Episode, renamed, write_episodes
from parley.analysis.deliberation.run_episodes import episodes_of_run
from parley.analysis.journaled_calls import check_manifest, open_journal
from parley.llm.backends import check_spec, identity_spec, open_spec
from parley.llm.budget import UNLIMITED, SharedBudget
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

PARTIES = ("republican", "democrat")
SPARE = 8
HELD_OUT = ("iid_test", "ood_test")


def plan(laps: int) -> list[str]:
    """The split of each lap's questions, training first. Errors: UserError for less than one lap."""
    if laps < 1:
        raise UserError("ask for at least one lap (--laps)")
    spare = max(1, round(laps / SPARE))
    return ["train"] * laps + [split for split in HELD_OUT for _ in range(spare)]


def populate(
    laps: int,
    llm: str,
    people: str,
    seed: int,
    folder: Path,
    told: Callable[[str], object],
    spending: SharedBudget = UNLIMITED,
) -> Path:
    """Hold the laps in a folder and write episodes.jsonl there; its path. What is done is not done again.

    People of two laps are not the same, whatever their number in the set; the questions are the same ones over all
    laps. Errors: UserError on a folder of other people, of another model or seed, where nothing that is answered can be
    read, and where the budget is spent.
    """
    splits = plan(laps)
    _claim(folder, llm, people, seed)
    found: list[Episode] = []
    for number, split in enumerate(splits):
        name = f"lap{number:02}"
        lap = scenario(split, llm, _people(folder / "people" / name, people, seed, number, spending), seed, number)
        outcome = run_scenario(RunSpec(lap, folder / name, budget=spending.of(llm), ledger=spending.ledger))
        if outcome.tally.line:
            told(outcome.tally.line)
        if outcome.stopped:
            raise UserError(outcome.stopped)
        episodes = episodes_of_run(folder / name)
        told(f"{name}     {split}, {len(episodes)} episodes")
        found += [renamed(episode, name, name) for episode in episodes]
    told(f"items    {answers(found)}")
    return write_episodes(found, folder / "episodes.jsonl")


def answers(episodes: Sequence[Episode]) -> str:
    """What participants answered about themselves: `age 81%, region 100%; nobody answered gender, income`."""
    people = {(one.session, voice.participant): voice.demographics for one in episodes for voice in one.voices}
    shares = {item.name: sum(item.name in told for told in people.values()) / len(people) for item in questionnaire()}
    given = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share)
    none = ", ".join(name for name, share in shares.items() if not share)
    return "; ".join(filter(None, [given, f"nobody answered {none}" if none else ""]))


def scenario(split: str, llm: str, people: Path, seed: int, number: int) -> Scenario:
    """The scenario of one lap."""
    settings = {"split": split, "llm": llm, "personas": str(people), "seed": seed * 1000 + number}
    return load_preset("consensus").with_settings(settings)


def _claim(folder: Path, llm: str, people: str, seed: int) -> None:
    check_spec(llm)
    check_spec(people)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"people": identity_spec(people), "llm": identity_spec(llm), "seed": seed}
    check_manifest(folder / "population.json", wanted, "population (people, model or seed)")


def _people(folder: Path, llm: str, seed: int, number: int, spending: SharedBudget) -> Path:
    """A set of personas of this lap, written if it is not there; the replies are kept beside it."""
    if unwritten := [party for party in PARTIES if not (folder / f"{party}.toml").is_file()]:
        folder.mkdir(parents=True, exist_ok=True)
        journal = folder.with_suffix(".sqlite")
        with open_journal(open_spec(llm), journal, spending.of(llm), spending.ledger) as backend:
            for party in unwritten:
                write_personas(party, folder, backend, llm, seed * 1000 + number)
    return folder
