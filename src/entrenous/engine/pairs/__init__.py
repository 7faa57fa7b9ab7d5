"""Loss and gradient over all pairs: by sorting, by linear-time sums, in metric tiles."""
