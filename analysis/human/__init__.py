"""How people change their opinions, measured as in a run (docs/human.md)."""
