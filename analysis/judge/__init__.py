"""A judge reads single statements and says how strongly each agrees with the topic's proposition (UCL study, section 3.4).

verdicts.py    what it is asked, how its replies are read      bench.py     every statement of a run, journaled
quality.py     the judge against the known-truth speaker       agreement.py the judge beside what agents say of themselves
examples.toml  scored statements that it is shown              report.py    all of it in words, tables and a figure
"""
