"""Scores of single statements (1-7, from a judge), analysed as in the UCL study."""
