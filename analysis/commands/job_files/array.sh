#!/bin/sh
# A sweep as an array of Slurm jobs, each of which runs one part of the cells. Start it with: sbatch $file
# When the jobs have ended, this command runs what is still missing, and writes tables and report:
#   $command
#SBATCH --array=1-$jobs --cpus-per-task=$cpus --mem=${memory}G --time=$time$gpus
set -eu
cd $here
$command --workers $cpus --part "$$SLURM_ARRAY_TASK_ID/$jobs"
