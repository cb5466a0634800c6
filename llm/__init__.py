"""Floor 0: requests, replies, templates, journal, limits, retry, driver and the backends. Knows no agent and no Mesa."""
