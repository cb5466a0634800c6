"""Twins of recorded people: does a persona made from what is known of a person predict what the person says next?

people_file.py  the long table of recorded people, and its reader
layouts.py      public files of people (data/layouts.toml), and their conversion into that table
history.py      what is predicted, what is known before it, and the stranger to compare with
asking.py       the questions to a twin, and its answers
rollout.py      whole conversations of twins
nats.py         how likely a local model finds what the person really wrote
measures.py     twin, stranger, other people, and the same person, compared with what the person said
training.py     trains a model on the talks of some people, to test it on others
planted.py      made-up people of known kind
law.py, oracle.py  the planted law: how much of a history a twin uses
report.py       the page
command.py      `run.py study twins` and `run.py study data`
data/           the public files; prompts and short texts, by language
"""

from parley.llm.studies import PEOPLE, Command, Study

STUDY = Study(
    "twins",
    "let personas of recorded people predict the next answers and messages of their people",
    group=PEOPLE,
    also=(
        Command(
            "data",
            "list public data files about people with their licences, and convert a file for `study twins`",
            group=PEOPLE,
            run="data_command:run",
            parser="data_command:parser",
        ),
    ),
    purposes={"twin_answer": "oracle:answer_twin", "twin_message": "oracle:write_twin"},
    law="law:TwinLaw",
)
