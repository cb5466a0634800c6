"""The opening of an HTML report: what came out, a debate beside a chart of its ratings that moves, and what to do next.

Everything moves by CSS: the document forbids scripts. A reader who asked for less motion, and paper, get the chart at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from shlex import quote
from typing import Any

import pandas as pd

from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import REFERENCE, strip_controls
from parley.analysis.plots import topic_ends
from parley.analysis.tables import Tables
from parley.llm.backends import needs_qualification
from parley.model.scenario import preset_names
from parley.model.titles import group_title

MOST_LINES, MOST_REPLIES = 8, 40
"""A room of more people is drawn as the mean of each party; of a longer debate the first replies are shown."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 330, 40, 110, 14, 34
"""The size of the chart and its margins. The names of people are written in the right margin."""
OWN_TOPIC = "Should cities ban cars from their centres?"


def first_look(tables: Tables, finding: str) -> str:
    """Return the opening as HTML; "" for a run without a debate that has replies and ratings.

    finding: the sentence that says what came out, as plain text.
    """
    spoken = tables.utterances.dropna(subset="text")
    rated = tables.attitudes.dropna(subset="attitude")
    debates = [room for room in spoken["room"].unique() if len(rated[rated["room"] == room])]
    if tables.header.is_log or not debates:
        return ""
    room = debates[0]
    replies, ratings = spoken[spoken["room"] == room].head(MOST_REPLIES), rated[rated["room"] == room]
    group, topic = replies["group"].iloc[0], replies["topic"].iloc[0]
    title = f"{tables.title(topic)}: {group_title(group, tables.names)}" if group != REFERENCE else tables.title(topic)
    rounds = int(max(ratings["round"].max(), replies["round"].max(), 1))
    return (
        f'<section class="look" style="--rounds:{rounds}" aria-label="A first look">\n'
        f'<p class="finding">{_text(finding)}</p>\n'
        f"<h2>One of {len(debates):,} debate{'s' * (len(debates) > 1)}: {_text(title)}</h2>\n"
        '<input type="checkbox" id="again"><label for="again">Play again</label>\n'
        f'<div class="beside">\n<div class="talk" tabindex="0" role="region" aria-label="Conversation">\n'
        f"{''.join(_conversation(replies))}</div>\n<figure>{_chart(tables, ratings, rounds, topic)}</figure>\n</div>\n"
        f'<div class="steps">\n{"".join(_steps(tables.header.scenario))}</div>\n</section>\n'
    )


def _text(text: str) -> str:
    return escape(strip_controls(text))


def _conversation(replies: pd.DataFrame) -> Iterator[str]:
    """Yield the replies of each round, which appear when the chart reaches the round."""
    for round_, said in replies.groupby("round", sort=True):
        paragraphs = "".join(
            f"<p><strong>{_text(row['name'])}:</strong> {_text(row['text'])}</p>\n" for row in said.to_dict("records")
        )
        yield f'<div class="round" style="--at:{int(str(round_)) - 1}"><h3>Round {round_}</h3>\n{paragraphs}</div>\n'


def _courses(tables: Tables, ratings: pd.DataFrame) -> Iterator[tuple[str, str, pd.Series]]:
    """Yield a label, a party and the ratings by round: of each person of a small room, of each party of a larger one."""
    if ratings["agent"].nunique() <= MOST_LINES:
        for _, own in ratings.groupby("agent", sort=False):
            yield str(own["name"].iloc[0]), str(own["party"].iloc[0]), own.set_index("round")["attitude"]
    else:
        for party, theirs in ratings.groupby("party", sort=False):
            yield tables.plural(str(party)), str(party), theirs.groupby("round")["attitude"].mean()


def _chart(tables: Tables, ratings: pd.DataFrame, rounds: int, topic: str) -> str:
    """Return the ratings by round as SVG, covered by a sheet that moves aside."""
    looks, courses = styles_of_run(tables), list(_courses(tables, ratings))
    floor, wall, surveyed = HEIGHT - BOTTOM, WIDTH - RIGHT, sorted(ratings["round"].unique())

    def across(round_: float) -> float:
        return round(LEFT + (wall - LEFT) * round_ / rounds, 1)

    def up(rating: float) -> float:
        return round(floor - (floor - TOP) * rating / 10, 1)

    parts = [f'<path class="axis" d="M{LEFT},{TOP}V{floor}H{wall}"/>']
    parts += [f'<text x="{LEFT - 8}" y="{up(rating) + 4}" text-anchor="end">{rating}</text>' for rating in (0, 5, 10)]
    step = max(1, rounds // 8)
    parts += [
        f'<text x="{across(round_)}" y="{floor + 16}" text-anchor="middle">{round_}</text>'
        for round_ in range(0, rounds + 1, step)
    ]
    parts.append(f'<text x="{(LEFT + wall) / 2}" y="{HEIGHT - 2}" text-anchor="middle">round</text>')
    names: list[tuple[float, str, str]] = []
    for label, party, by_round in courses:
        colour, by_round = looks[party]["color"], by_round.sort_index()
        points = [(across(float(str(at))), up(float(value))) for at, value in by_round.items()]
        line = _line(dict(zip(map(int, by_round.index), points, strict=True)), surveyed)
        parts.append(f'<path class="course" stroke="{colour}" d="{line}"/>')
        parts += [f'<circle fill="{colour}" cx="{x}" cy="{y}" r="3"/>' for x, y in points]
        names.append((points[-1][1], label, colour))
    parts.append(f'<rect class="sheet" x="{LEFT + 1}" y="0" width="{wall - LEFT + 8}" height="{floor - 1}"/>')
    parts += _names(names, wall + 10)
    what = "Private rating of each person" if len(courses) == ratings["agent"].nunique() else "Mean private rating"
    ends = topic_ends(tables, topic)
    scale = f"0: {ends[0]}; 10: {ends[1]}" if ends else "0 to 10"
    caption = f"{what} before the debate (round 0) and after each round ({scale})."
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(caption)}">{"".join(parts)}</svg>\n'
        f"<figcaption>{_text(caption)}</figcaption>"
    )


def _line(points: dict[int, tuple[float, float]], surveyed: list[int]) -> str:
    """Return the path through points by round, with a gap where the rating of a survey is missing.

    >>> _line({0: (1, 1), 2: (3, 3), 3: (4, 4)}, [0, 1, 2, 3])
    'M1,1M3,3L4,4'
    """
    parts, pen = [], "M"
    for round_ in surveyed:
        if round_ in points:
            parts.append(f"{pen}{points[round_][0]},{points[round_][1]}")
        pen = "L" if round_ in points else "M"
    return "".join(parts)


def _names(ends: list[tuple[float, str, str]], x: float) -> Iterator[str]:
    """Yield the names at the ends of their lines, moved apart where they would overlap."""
    lowest = 0.0
    for y, label, colour in sorted(ends):
        lowest = max(y + 4, lowest + 14)
        yield f'<text class="name" style="fill:{colour}" x="{x}" y="{lowest}">{_text(label)}</text>'


def _steps(scenario: dict[str, Any]) -> Iterator[str]:
    """Yield up to three buttons, each of which opens to commands."""
    own = (
        scenario["name"] in preset_names() and not scenario["questions"]
    )  # questions leave no room for a topic of one's own
    name, model = (scenario["name"] if own else "three_way"), str(scenario["llm"])
    steps = {
        "Measure this model's bias": [f"python run.py audit --llm {quote(model)}"],
        "Debate a question of my own": [f'python run.py --scenario {name} --llm oracle --topic "{OWN_TOPIC}"'],
    }
    if not needs_qualification(model):
        steps["Use a real model"] = [
            "python run.py models get smollm2",
            f"python run.py --scenario {name} --llm smollm2",
        ]
    for button, commands in steps.items():
        yield f'<details><summary>{button}</summary>\n<pre tabindex="0">{_text(chr(10).join(commands))}</pre></details>\n'
