"""``python -m entrenous``."""

from entrenous.cli import main

main()
