"""Floor 5: data sets from records, adapters, benchmarks."""

import logging

from parley.llm import model_hubs

model_hubs.silence_hubs()
# PEFT imports it, and at import it says that an optional kernel is missing.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
