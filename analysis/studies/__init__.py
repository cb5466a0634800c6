"""Studies: generators that yield scenarios, are sent the tables of their records, and return what follows from them."""
