"""AUC of private rankings against epsilon, from public ranges: ours beside what one would use instead."""
