"""Two debate to persuade each other: by kinds of argument, and knowing who the other is.

arguments.py               `study arguments`: how far a skeptic moves toward a convincer who argues by knowledge, trust, ...
personalised.py, odds.py   `study personalised`: opponents introduced as people or as AIs, with their demographics or without
command.py                 both commands
scenarios/                 their debates, and one with a question after every turn, as PersuasionTrace asks people
"""

from parley.llm.studies import PERSUASION, Command, Study

STUDY = Study(
    "arguments",
    "measure how far each kind of argument moves a skeptic",
    group=PERSUASION,
    scenarios={
        "persuasion": "A convincer and a skeptic",
        "personalised": "Two try to persuade each other",
        "persuasion_trace": "Opinions after every turn",
    },
    also=(
        Command(
            "personalised",
            "introduce the opponent as a person or an AI, with known or unknown demographics",
            group=PERSUASION,
            run="command:personalised",
            parser="command:personalised_parser",
        ),
    ),
)
