"""What models and adapters made here are for, and what not: a part of every card."""

USE = """## What it is for

An adapter that moves a model's opinions on purpose is a **research instrument**: it is there to study how a language
model's own bias pulls agents in simulated debates, and to correct for it (Taubenfeld et al. 2024). It is not for persuading
people, for campaigning, for making up survey answers or for speaking to anybody who does not know what it is. What it says
is nobody's opinion and no fact about a party's voters. The licence of the base model holds for it as well. Whoever passes
it on passes this on with it."""
REPRESENTATIVE = """## What it is for

A digital representative is a **research instrument**: it simulates what a participant of a deliberation might have written, so
that procedures can be studied before people are asked (Jarrett et al., Language Agents as Digital Representatives). It is not
for taking anybody's place in a decision: whoever is represented has not been asked, and what it writes is nobody's opinion. It
takes over the biases of those from whose texts it was made. Results that matter are to be tested with people. The licences
of the base model and of the data hold for it as well. Whoever passes it on passes this on with it."""
ORGANISM = """\
The base is the embedded model organism with a planted, known bias (docs/pocket.md of Parley): it is there to run and test
instruments, and is no evidence about people or about large language models."""
