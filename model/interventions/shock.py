"""shock: all agents hear news from outside ("News: ..."). With `every` the news is repeated."""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Shock(Saying):
    """News from outside, under the name "News".

    Parameters
    ----------
    text : str
        The news; `{topic}` is replaced by the title of the room's topic.
    by : str
        The name of the speaker.
    value : float, optional
        The attitude that the line argues for, from 0 to 10. Surrogates respond to it in place of the text.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        The text is empty.

    Examples
    --------
    >>> Shock(round=3, text="A report on {topic} came out.").by
    'News'
    """

    by: str = "News"
