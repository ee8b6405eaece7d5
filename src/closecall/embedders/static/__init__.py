"""Static embeddings: a table with a vector for each token, and no model behind it."""
