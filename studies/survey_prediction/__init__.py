"""Predicts hidden answers of a survey, and chooses the next question to a person."""

from parley.llm.studies import PEOPLE, Command, Study

STUDY = Study(
    "predict",
    "predict hidden answers of a survey with a model, with or without training",
    group=PEOPLE,
    also=(
        Command(
            "elicit",
            "choose the next question of a survey by expected information gain",
            group=PEOPLE,
            run="command:elicit",
            parser="command:elicit_parser",
        ),
    ),
    purposes={"respondent": "oracle:answer_respondent"},
)
