"""The network of a run or of a population, with its opinions, as a graph file."""

from parley.llm.studies import READ, Study

STUDY = Study("export-network", "write the network of a run and the agents' opinions as a graph file", group=READ)
