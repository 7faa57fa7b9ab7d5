"""Loops over single steps: a stream under way, and the compiled kernels."""
