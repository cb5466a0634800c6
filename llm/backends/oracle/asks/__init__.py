"""One file per kind of question. Each has ORDER (lower is tried first), `knows(reading)` and `answer(reading, oracle)`."""
