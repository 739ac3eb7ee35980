"""The ladder of verification attacks on embeddings (P8): cosine, ridge, LDA, MLP."""
