"""Figures that the papers print, one file per paper, with where they stand."""
