"""Studies that train: each in a file of its own."""
