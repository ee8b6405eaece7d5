"""Chat models: the assistant under test, and the judges of its answers."""
