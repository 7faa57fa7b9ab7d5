"""What a pair pays for being ordered wrongly."""
