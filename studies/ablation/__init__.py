"""What agents recall when parts of their memory are left out (docs/days.md)."""

from parley.llm.studies import Study

STUDY = Study("ablation", "let a model score what agents recall without parts of their memory", group="Analyse runs")
