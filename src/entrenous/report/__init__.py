"""What people look at: pages, plots, cards, tables."""
