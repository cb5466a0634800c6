"""What a sweep finds (docs/sweeps.md): measured cell by cell, one tidy table, the effect of each field, figure and summary."""
