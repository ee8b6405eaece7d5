"""Token by token: is the reference in the answer, and is the answer in the context?"""
