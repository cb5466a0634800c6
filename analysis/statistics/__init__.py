"""Statistical tests. Each result names its unit, n, estimate, interval, effect size and corrected p value, where it has them."""
