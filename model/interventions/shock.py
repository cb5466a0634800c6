"""shock: something happens outside, and everybody hears of it ("News: ..."); with `every` the news goes on."""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Shock(Saying):
    """News from outside, under the name "News".

    Parameters
    ----------
    text : str
        The news; `{topic}` stands for what the room is about.
    by : str
        Under whose name it stands.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        There is no text.

    Examples
    --------
    >>> Shock(round=3, text="A report on {topic} came out.").by
    'News'
    """

    by: str = "News"
