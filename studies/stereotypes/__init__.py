"""Are personas individuals or stereotypes of their group, and how do they see the other group?

survey.py         personas answer for themselves and as people of each party would, perhaps after an interview about their life
individuation.py  how alike the personas of a group are, compared with people
perception.py     how far a group is seen from where it is
report.py         answers of a user's table, and the page
command.py        `run.py study stereotypes`
oracle.py         the planted law: how far away the other party is seen
organism.py       the bias of organisms that the command finds
data/             the prompt, and the questions of the interview, by language
"""

from parley.llm.studies import PEOPLE, Study

STUDY = Study(
    "stereotypes",
    "measure whether personas are individuals or stereotypes, and how personas see the other group",
    group=PEOPLE,
    purposes={"perception": "oracle:answer_perception"},
    law="oracle:plant_exaggeration",
    bias="organism:Stereotype",
)
