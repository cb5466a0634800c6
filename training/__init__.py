"""Floor 5: data sets from records, adapters, benchmarks. Nothing here yet that runs."""
