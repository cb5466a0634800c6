"""A paper's own prompts as a wording: cut out of the user's copy of its text (`run.py new wording`), and read as data."""
