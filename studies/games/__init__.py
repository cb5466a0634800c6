"""People play games of points: trust game, prisoner's dilemma, public goods, a negotiation.

environment.py, rules.py, round.py, players.py    the games, a round of one, and who plays
events.py, tables.py, played.py, user_games.py    what a record holds, what is read of it, and games of people from a file
law.py, oracle.py                                 the planted law of play, and answers by it
game_moves.py, game_points.py, expectation_gap.py, outcome_diversity.py    measures, one file each
run_report.py                                     a run as a summary
report.py, ending_diversity.py, command.py        `run.py study games`: a game in several conditions
"""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "games",
    "let people play games of points, and compare what players say with what they do",
    group=GROUPS_OF_PEOPLE,
    purposes={"move": "oracle:answer_move", "expectation": "oracle:answer_expectation"},
    law="law:GameLaw",
    environments={"game": "environment:Game"},
    scenarios={
        "trust_game": "A trust game",
        "prisoners_dilemma": "A prisoner's dilemma",
        "public_goods": "A common pot",
        "negotiation": "A negotiation",
    },
    events="events",
    tables={"moves": "tables:MOVES", "expectations": "tables:EXPECTATIONS", "outcomes": "tables:OUTCOMES"},
    metrics={name: name for name in ("game_moves", "game_points", "expectation_gap", "outcome_diversity")},
    run_report="run_report:REPORT",
)
