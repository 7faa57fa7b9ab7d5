"""What is learnt: surrogates, scores, tasks, domains. Analysis only, no privacy."""
