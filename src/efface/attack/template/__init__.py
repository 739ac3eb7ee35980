"""Attacks on stored templates. None knows the people: only what was stored, the scheme, and
embeddings of others. Each gives back an embedding for every template."""
