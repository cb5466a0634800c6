"""Floor 1: personas, topics, memory, attitudes, prompts and the Debater.

An agent composes a request and absorbs a reply; it never calls a model.
"""
