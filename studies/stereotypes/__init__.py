"""Are personas individuals or stereotypes of their group, and how do they see the other group? (docs/stereotypes.md)

The measures are those of analysis/alignment (individuation.py, perception.py), which also find planted stereotypes.
"""

from parley.llm.studies import Study

STUDY = Study(
    "stereotypes",
    "measure whether personas are individuals or stereotypes, and how they see the other group",
    group="Measure a model's bias",
)
