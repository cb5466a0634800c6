"""Studies: one folder each. Each declares itself by a value STUDY (llm/studies.py); no other part of Parley names one."""
