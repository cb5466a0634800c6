"""The published JSON schemas (2020-12) of card.json and of the tables of a run, made from the code that writes them.

docs/files.md describes them.

    card_schema.py    of card.json: from the classes of a card         validation.py   writes the files, and reads them
    table_schema.py   of the tables: from those of an empty record     validation.py  checks a file against its schema

`python -m parley.analysis.schemas.validation` writes card-N.schema.json and tables-N.schema.json anew.
"""
