"""Pure functions from scores to rates, and from rates to honest intervals."""
