"""Checks a claim over many settings that mean the same, and tests it by a plan that was frozen before.

claim.py          a claim as a TOML file (analysis/outcomes.py: its outcome as a number for each room)
dimensions.py     what is varied; design.py, multiverse.py: the specifications, and their runs
differences.py    first arm minus second; people.py: the unit of the test
curve.py          the specification curve, and what swapped arms give
dependence.py, variance.py, bayes.py   on which settings the effect depends
audit.py, context.py, verdict.py, report.py   all numbers, their sentence, the page; derivation.py: made again without a model
registration.py, stamp.py, pilot.py, confirmation.py   a registered plan, its power, and its test
command.py        `run.py study claim`, `register`, `confirm`
"""

from parley.llm.studies import TRUE, Command, ResultFolder, Study

STUDY = Study(
    "claim",
    "check a claim under many settings that should not matter",
    TRUE,
    "command:claim",
    "command:claim_parser",
    sealed="derivation:FOLDER",
    folders=(ResultFolder("claim", ("claim.json",), "claim.html", "claim.md"),),
    also=(
        Command(
            "register",
            "write down the plan for the test of a claim before anyone sees a result",
            TRUE,
            "command:register",
            "command:register_parser",
        ),
        Command(
            "confirm",
            "run a registered plan without changes, and test its claim",
            TRUE,
            "command:confirm",
            "command:confirm_parser",
        ),
    ),
)
