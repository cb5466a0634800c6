"""Floor 3: scenarios, the Mesa model, seeds, events, recorder, run folders and sweeps. Knows no plot and no training."""
