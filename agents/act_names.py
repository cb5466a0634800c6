"""The names of what people can do on a social medium. An environment may import them: they are names and nothing else."""

from __future__ import annotations

from typing import Literal, get_args

Act = Literal["post", "reply", "quote", "repost", "like", "dislike", "follow", "unfollow", "mute", "search", "nothing"]
ACTS: tuple[Act, ...] = get_args(Act)
"""In the order in which they are listed."""
NOTHING: Act = "nothing"
WRITTEN = {"post": "post", "reply": "comment", "quote": "quote"}
"""The form of the text that an act needs."""
UNTARGETED = frozenset({"post", "search", "nothing"})
"""Acts that are about no post."""
VOTES = {"like": 1, "dislike": -1}
