"""Is what a scenario fixes what its run shows? (docs/control.md)"""

from parley.llm.studies import Study

STUDY = Study("control", "check that a run shows what its scenario fixes", group="Analyse runs")
