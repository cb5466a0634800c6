"""Floor 4: records, metrics, statistics, figures, reports. Reads records, never live models."""
