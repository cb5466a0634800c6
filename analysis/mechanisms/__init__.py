"""The formal objects of the study of digital representatives, on small finite mechanisms: exact, nothing is sampled.

episode.py       mechanism, policies, rollout, values, Bellman operator (Eqs 2, 3, 8, 9)
choice.py        social choice function, payoffs, what implements it, representativity (Eqs 1, 4, 5, 16)
equivalence.py   relevant parts of utterances, the three equivalences and what Proposition 1 assumes (Eqs 6, 7, 10-15)

Source: "Language Agents as Digital Representatives in Collective Decision-Making". **Its equations are missing from the text we
have**: each is reconstructed from the words around it and from the proof's steps, and the docstrings say what was reconstructed.
Departure: policies and mechanisms do not change with time here. The paper lets them; put the time into the state for that.
"""
