"""Studies. Each is a generator: it yields scenarios, receives the tables of their records and returns a result."""
