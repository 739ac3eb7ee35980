"""Reading pictures: where they are, who is on them, and their pixels, whatever the file."""
