"""A projector behind HTTP: vectors in, erased vectors out, and 503 rather than falling over."""
