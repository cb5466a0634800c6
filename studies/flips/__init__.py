"""Every flip explained: which part of the movement of ratings each cause has."""

from parley.llm.studies import DEBATE, Study

STUDY = Study(
    "flips",
    "find out why ratings change sides: instability, conformity, reasons, ...",
    group=DEBATE,
    law="law:plant_flips",
    sway="law:flipped",
)
