"""The ledger: a data set's total budget, and every fit that spent of it."""
