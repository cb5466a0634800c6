"""Groups of opinion in a table of votes, and how fairly a slate of statements represents them."""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "opinion-groups",
    "find groups of people who vote alike, and check whether a slate of statements represents the people",
    group=GROUPS_OF_PEOPLE,
)
