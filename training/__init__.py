"""Floor 5: data sets from records, adapters, benchmarks."""

import logging

from parley.llm import hubs

hubs.silence()
# PEFT imports it, and at import it says that an optional kernel is missing.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
