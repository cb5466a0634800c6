"""Groups of opinion in a table of votes, and how fairly a slate of statements represents them (docs/opinion_groups.md)."""
