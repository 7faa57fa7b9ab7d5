"""The phases that a plan is made of, one file each."""
