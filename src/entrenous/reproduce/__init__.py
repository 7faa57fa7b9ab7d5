"""The papers' experiments, run again: what they print beside what the library measures."""
