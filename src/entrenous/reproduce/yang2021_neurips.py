"""Targets of this paper."""

from __future__ import annotations

from entrenous.reproduce.targets import Target

TARGETS: tuple[Target, ...] = ()
