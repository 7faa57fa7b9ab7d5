"""What can be learnt, one file a task: its score, what it reads from y, and its way back to the user's units."""
