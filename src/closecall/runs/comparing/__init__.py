"""Two runs of the same cases: what changed, and is it worse beyond chance?"""
