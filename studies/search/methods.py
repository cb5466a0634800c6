"""The names of the methods of a search. The command knows them before anything of a search is loaded."""

RANDOM, TPE, NSGA = METHODS = ("random", "tpe", "nsga2")
