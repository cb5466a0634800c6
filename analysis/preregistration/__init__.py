"""Preregistration: a plan for the test of a claim, frozen in a file, and the run of that plan and nothing else."""
