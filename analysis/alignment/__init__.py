"""Whether personas answer as their party would: interviews, a judge, and agreement with people (UCL study, section 3.1)."""
