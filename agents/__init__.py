"""Floor 1: personas, topics, memory, rating scales, prompts and agents.

An agent composes a request and absorbs a reply; it never calls a model.
"""
