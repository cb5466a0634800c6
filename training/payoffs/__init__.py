"""Payoff models: a value head that learns from recorded ratings what a statement is worth to a participant."""
