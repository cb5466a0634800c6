"""What a run on many servers and processors costs; a section prints its ratios in one run (benchmarks/scale/__main__.py)."""
