"""Minimisers and closed forms, for fits without privacy and for what was released."""
