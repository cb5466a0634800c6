"""Posts and replies of an online community before and after a change of its rules."""

from parley.llm.studies import GROUPS_OF_PEOPLE, Study

STUDY = Study(
    "community",
    "let people write in an online community before and after a change of its rules",
    group=GROUPS_OF_PEOPLE,
    purposes={
        "community_member": "oracle:write_member",
        "community_post": "oracle:write_post",
        "community_choice": "oracle:choose_reply",
        "house_rule": "oracle:judge_post",
        "origin": "oracle:judge_origin",
    },
    law="oracle:CommunityLaw",
)
