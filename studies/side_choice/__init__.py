"""Debaters choose which side of a claim they argue before a judge (studies/side_choice/README.md)."""

from parley.llm.studies import DEBATE, Study

STUDY = Study(
    "choose-side",
    "let debaters choose the side that they argue before a judge",
    group=DEBATE,
    purposes={"side_choice": "oracle:answer_side_choice"},
    law="oracle:plant_flattery",
    bias="organism:Sycophancy",
)
