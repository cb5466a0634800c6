"""Private deliberations and digital representatives, as data and as measurements (docs/deliberation.md)."""
