"""Fine-tunes a model on its own answers: `python run.py train` (Taubenfeld et al. 2024, sections 5 and 7; docs/tuning.md)."""
