"""Networks that turn pictures into vectors. Each says what it wants of a picture, and its weights
are known by their digest."""
