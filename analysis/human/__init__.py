"""How people change their opinions, measured as in a run (docs/personas.md)."""
