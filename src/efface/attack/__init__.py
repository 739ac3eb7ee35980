"""Attacks see a release and what the threat says they know; they never score themselves."""
