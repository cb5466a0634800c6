"""Personas choose between two profiles with drawn attributes: which levels matter, which profile is best."""

from parley.llm.studies import PEOPLE, Study

STUDY = Study(
    "conjoint",
    "let personas choose between profiles with random attributes",
    group=PEOPLE,
    purposes={"profile_choice": "oracle:answer_profile_choice"},
    law="oracle:plant_profiles",
    bias="organism:Order",
)
