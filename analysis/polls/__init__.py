"""Polls: questions of a survey with the answers of groups of people, asked to a model as a member of each group."""
