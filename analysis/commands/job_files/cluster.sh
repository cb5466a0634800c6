#!/bin/sh
# A command whose rooms or cells run on a Ray cluster of $jobs machines. Start it with: sbatch $file
# A job that ends too early goes on where it stopped if you start it again.
#SBATCH --nodes=$jobs --ntasks-per-node=1 --cpus-per-task=$cpus --mem=${memory}G --time=$time$gpus
set -eu
cd $here
head=$$(scontrol show hostnames "$$SLURM_JOB_NODELIST" | head -n 1)
port=$$((20000 + SLURM_JOB_ID % 20000))
srun --nodes=1 --ntasks=1 --overlap -w "$$head" $ray start --head --port="$$port" --num-cpus=$cpus --block &
sleep 30
[ $jobs -eq 1 ] || srun --nodes=$others --ntasks=$others --overlap --exclude="$$head" $ray start --address="$$head:$$port" --num-cpus=$cpus --block &
sleep 30
srun --nodes=1 --ntasks=1 --overlap -w "$$head" $command --workers $workers --cluster auto
