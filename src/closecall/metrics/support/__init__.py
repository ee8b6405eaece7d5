"""What a small model that reads two texts together says of them."""
