"""Debaters bet that they win, or argue for and against their own belief, before a judge.

environment.py                           debates before a judge who says nothing
bets.py, calibration.py, verdicts.py     `study bets`: private bets, a judge who says who won, and bets compared with verdicts
beliefs.py, speeches.py                  `run.py study prior-beliefs`: how far the judge moves, and a panel that compares speeches
training.py, training_report.py          a debater trained on the verdicts of the panel
command.py                               both commands
oracle.py                                who made the better case, by the planted law of persuasion
"""

from parley.llm.studies import DEBATE, Command, Study

STUDY = Study(
    "bets",
    "let debaters bet in private on whether they will win",
    group=DEBATE,
    purposes={"debate_verdict": "oracle:answer_debate_verdict"},
    environments={"before_judge": "environment:BeforeJudge"},
    scenarios={"bets": "Debaters bet on themselves", "prior_beliefs": "Arguing for and against one's own belief"},
    also=(
        Command(
            "prior-beliefs",
            "let agents argue for and against their own belief before a judge",
            group=DEBATE,
            run="command:prior_beliefs",
            parser="command:prior_beliefs_parser",
        ),
    ),
)
