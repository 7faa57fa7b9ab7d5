"""The public side of streams: who meets whom, drawn without a look at a record."""
