"""Self-fine-tuning, end to end: `python run.py train` (Taubenfeld et al. 2024, sections 5 and 7, appendix A.2; docs/tuning.md).

questions.py   neutral questions, written by a model from ten examples
answers.py     what personas of a party answer
dataset.py     the answers as training data, its card, and what must not be in it
recipe.py      what is trained and how
dpo_reference.py       which adapter DPO can go on from
trainers.py    TRL's SFTTrainer and DPOTrainer with PEFT's LoRA
model_card.py        what stands beside an adapter: data, configuration, losses, what it is for
pipeline.py    all of it in one folder, resumable
learning_rates.py       the rule for learning rates
"""
