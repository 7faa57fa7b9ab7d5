"""Kinds of rows: what a phase may ask of a table, and the tables that answer."""
