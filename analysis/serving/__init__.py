"""How the pages are served: the server, who may ask it, and which files and servers a page may name."""
