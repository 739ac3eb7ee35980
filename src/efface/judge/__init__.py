"""Judges alone hold the truth: they turn an attack's claim into evidence."""
