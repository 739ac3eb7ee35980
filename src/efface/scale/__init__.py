"""The same verbs on one process, on several, or on a cluster."""
