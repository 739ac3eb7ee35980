"""Erasers as files for other programs. Sees only the eraser, never how it was fitted."""
