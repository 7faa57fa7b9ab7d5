"""Named algorithms: one file per paper, one for our own. Each planner registers itself."""
