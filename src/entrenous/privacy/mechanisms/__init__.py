"""Noise mechanisms, one file per family: how much noise, how often, for which bound, at what price."""
