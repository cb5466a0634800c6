"""Floor 5: trains models, exports them, and measures what training changes."""

import logging

from parley.llm import model_catalogue as model_hubs

model_hubs.silence_hubs()
# PEFT imports it, and it logs that an optional kernel is missing.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
