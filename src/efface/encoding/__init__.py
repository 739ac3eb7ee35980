"""From pictures to a file of vectors: read, cut, encoded and written, in parts that a later run
takes up again."""
