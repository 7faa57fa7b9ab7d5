"""Plans and the one loop that runs them."""
