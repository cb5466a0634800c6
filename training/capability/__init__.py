"""What fine-tuning a bias into a model costs in capability (docs/capability.md).

python -m parley.training.capability.measure MODEL [--adapter FOLDER] [--tasks mmlu,hellaswag] [--limit 100]

items.py        what an item is; where its right answer stands   facts.py     multiple choice on what was taught, as in MMLU
completions.py  sentences to be ended, as in HellaSwag           items.py   a chat as one text, for any tokenizer
tasks.py        items as tasks of lm-evaluation-harness          harness.py   asks the harness, quietly
heldout.py      cross-entropy on text nobody has a stance in     measure.py   all of it
"""
