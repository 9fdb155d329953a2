"""Private helpers that several packages share: checks, arrays, dataframes, statistics."""
