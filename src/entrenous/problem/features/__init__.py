"""Public domains of the features, and how they are declared."""
