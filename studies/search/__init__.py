"""Which intervention or audience moves an outcome most, and is the best one found better than a random choice?

space.py          what may be tried, read from a TOML file: kinds, texts, timing, frequency, reach, with a table of costs
audience.py       settings about people that a space may vary; varied.py: choices and ranges
optimiser.py      what is tried next: random search, and the samplers of Optuna
bench.py          runs a scenario with a setting, or with none, and measures the outcome in each room
searching.py      the search on its rooms, and the new rooms of new people on which the best is tested
measures.py       effects, what the search promised and what new rooms show, the comparison with a random choice
report.py         the page, its tables and its figure; command.py: `run.py study search`
"""

from parley.llm.studies import MOVED, ResultFolder, Study

STUDY = Study(
    "search",
    "search for the best of many interventions within a budget, and test the best intervention on new rooms",
    group=MOVED,
    folders=(ResultFolder("search", ("search.json",), "search.md"),),
)
