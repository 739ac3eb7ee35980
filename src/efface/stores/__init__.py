"""Whole stores of vectors: every row through a projector into a new store, and proof of it."""
