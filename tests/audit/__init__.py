"""What an attacker who knows everything but one record learns from real releases, and what the plan claims.

`bounds` is the statistics, `attack` the attacker, `scenarios` the worst cases. ``python -m audit`` is the long version.
"""
