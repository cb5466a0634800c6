"""Can this model play people? Planted positions are asked back before a simulation is believed.

questions.py  people of known position answer survey questions, asked in each way
measures.py   how many pairs of them the answers rank as planted, and how far the ends are apart
verdict.py    what follows from that, in one sentence
report.py     the page, its table and its figure
"""
