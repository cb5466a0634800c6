"""Messages that are meant to persuade, before personas: which persuades most, and is a rehearsed one better?

writer.py         who writes messages, and how persuasive a person finds one; files of the user
contest.py        messages, and rewritings of them, compared in pairs before a panel
measures.py       what a rewriting gains, and how well the panel predicts votes of people
report.py         the page of the arena
rehearsal.py      candidates tried on an audience, the choice rated by others, and the page
command.py        `run.py study arena` and `run.py study rehearse`
oracle.py         the oracle's messages, advice, rewritings and ratings
data/             prompts, by language
"""

from parley.llm.studies import PERSUASION, Command, Study

STUDY = Study(
    "arena",
    "compare messages in pairs before a panel, and rewrite messages", group=PERSUASION,
    run="command:arena",
    parser="command:arena_parser",
    also=(
        Command("rehearse", "try candidate messages on a simulated audience, and choose the best message", group=PERSUASION,
                run="command:rehearse", parser="command:rehearse_parser"),
    ),
    purposes={
        "message": "oracle:write_message", "advice": "oracle:write_advice", "rewriting": "oracle:rewrite_message",
        "persuasiveness": "oracle:answer_persuasiveness",
    },
)  # fmt: skip
