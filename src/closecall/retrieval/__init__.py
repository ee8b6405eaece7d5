"""Is the retriever any good: rankings held against relevance judgements."""
