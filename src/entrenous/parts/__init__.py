"""The algebra: surrogate x pair score = loss; loss + domains = problem. No privacy in here."""
