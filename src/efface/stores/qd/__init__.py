"""The pieces of the Qdrant store: clients, points, and a new collection's making."""
