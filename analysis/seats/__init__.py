"""The page of the seats of people: `table.py` codes and what each holder may see, `server.py` its server."""
