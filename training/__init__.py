"""Floor 5: data sets from records, adapters, benchmarks."""

import logging

logging.getLogger("bitsandbytes").setLevel(
    logging.ERROR
)  # says at import that an optional kernel is missing; PEFT imports it
