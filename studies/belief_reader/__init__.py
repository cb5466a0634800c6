"""A Bayesian reader: a judge tags lines by direction, reason and appeal, and the reader's belief moves by the tags.

tags.py            what a judge is asked about a line: direction, reason, appeal
known_lines.py     lines whose tags are known, made of the parts in data/
exam.py            how well a judge tags them, and what its answers are worth
reader.py          the reader: belief in log odds, weights of reasons and appeals, less for what is repeated
courses.py         what people heard between two ratings, from a run or a file
fit.py, errors.py  weights estimated from courses; errors of prediction against no change and shuffled lines
environment.py     readers in a network: seats.py, round.py, events.py, tables.py
human.py           beliefs of people after each turn, compared with those of a reader
law.py, oracle.py  the planted law of a judge that tags, and answers by it
"""

from parley.llm.studies import MOVED, Command, Study

STUDY = Study(
    "belief-reader",
    "predict changes of beliefs from the direction, the reason and the appeal of messages",
    group=MOVED,
    purposes={"line_tag": "oracle:answer_tag"},
    law="law:TagLaw",
    environments={"readers": "environment:Readers"},
    scenarios={"readers": "Readers read the posts of a network of debaters"},
    events="events",
    tables={"tags": "tables:TAGS"},
    also=(
        Command(
            "belief-traces",
            "compare the changes of people's beliefs with the changes of a simulated reader",
            group=MOVED,
            run="command:traces",
            parser="command:traces_parser",
        ),
    ),
)
