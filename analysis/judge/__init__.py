"""A judge reads single statements and says how strongly each agrees with the topic's claim (UCL study, section 3.4).

judging.py     every statement of a run before the judge       quality.py    the judge compared with the known-truth speaker
report.py      all of it in words, tables and a figure         (what it is asked: analysis/rubrics/judge.toml)
"""
