"""Cases, the runner that plays them, and the report that they add up to."""
