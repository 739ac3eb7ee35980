"""Linear erasers of vectors: each method one file, all yielding the same frozen LinearEraser."""
