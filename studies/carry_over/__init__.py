"""What an earlier stage did to a later one: the same people with their memory, without it, and with another person's."""

from parley.llm.studies import MOVED, ResultFolder, Study

STUDY = Study(
    "carry-over",
    "measure what people carry from one stage of a scenario into the next",
    group=MOVED,
    law="law:CarryOver",
    sway="law:carried",
    scenarios={"two_topics": "Rooms on one topic, then other rooms on another topic"},
    folders=(ResultFolder("carry-over", ("carry_over.md",), "carry_over.md"),),
)
