"""What a run on many servers and processors costs; each section prints its ratios in one run (benchmarks/scale/__main__.py)."""
