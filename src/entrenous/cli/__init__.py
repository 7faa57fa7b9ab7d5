"""The command line. Heavy imports wait until a command needs them."""

from entrenous.cli.app import main

__all__ = ["main"]
