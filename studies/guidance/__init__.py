"""An official account answers an event on a social medium: with empathy, with facts, or without content.

statement.py            the intervention `guidance`: a statement of the account, in one of three styles
law.py, oracle.py       the planted law of how statements move feelings and attitudes; what people say of their feelings by it
report.py, command.py   `run.py study guidance`: the same rooms under each condition, and the report
"""

from parley.llm.studies import PERSUASION, Study

STUDY = Study(
    "guidance",
    "compare the effects of official statements with facts, with empathy, and without content",
    group=PERSUASION,
    law="law:GuidanceLaw",
    shift="law:attitude_shift",
    ending="oracle:tone_sentence",
    interventions={"guidance": "statement:Guidance"},
    scenarios={"public_opinion": "A story breaks, and an official account answers"},
)
