"""Predicts answers of a survey: a table of people and questions, what is hidden of it, and how well a model finds it.

answers.py      reads a survey: people, questions, answers
invented.py     invents a survey whose truth is known
splits.py       which answers are hidden: retrodiction, unasked questions, new people, both
asking.py       asks a model for answers of people of whom others are known
baselines.py    predictions without a model
measures.py     AUC and correlations with intervals, and the null of shuffled answers
prediction.py   `run.py predict`: the predictions of a model and of the baselines, measured
prediction_report.py  its report
elicitation.py  `run.py elicit`: which question to ask next
elicitation_report.py  its report
"""
