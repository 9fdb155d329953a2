"""Examples with numbers that 32 bits cannot hold, and what whole numbers of any size make of them.

test_pyodide.py runs them where NumPy's integers have 32 bits unless told otherwise.
"""

__test__ = {
    "the estimated ranks in a pool of 10 ** 9 items": """
>>> import recsample as rs
>>> n, m = 10**9, 1000
>>> corrected = rs.RankEstimate(rs.AP, rs.UniformSampling(m), n).values.tolist()
>>> ranks = [1 + (n - 1) * s // m for s in range(m + 1)]
>>> max(abs(value * rank - 1) for value, rank in zip(corrected, ranks)) < 1e-14
True
""",
    "few ties in a large pool": """
>>> import recsample as rs
>>> tied = rs.Ranks([1000], n_items=10**5, ties=[3])
>>> expected = rs.UniformSampling(1).expect(rs.Recall @ 1, tied)
>>> abs(float(expected[0]) - (1 - (999 + 3 / 2) / (10**5 - 1))) < 1e-12
True
""",
    "the cost of tied items": """
>>> import recsample as rs
>>> design = rs.InverseSampling(cap=100)
>>> one, other = design.cost(rs.Ranks([5, 6], n_items=1000))
>>> tied = design.cost(rs.Ranks([5], n_items=1000, ties=[1]))
>>> bool(abs(tied[0] - (one + other) / 2) < 1e-12)
True
""",
    # Modulo 2 ** 32, item 7 of user 4096 is item 7 of user 0. The score of an item is its number.
    "pairs of 4097 users and 2 ** 20 items": """
>>> import numpy as np
>>> import recsample as rs
>>> scores = np.ones((4097, 1)), np.arange(2.0**20)[:, None]
>>> relevant = [0] * 4096 + [7]
>>> ranks = rs.given_ranks(scores, relevant, [[7]] + [[1]] * 4096)
>>> ranks.values.tolist() == [2] * 4096 + [1]
True
>>> rs.given_ranks(scores, relevant, [[1]] * 4096 + [[7]])  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
recsample.InputError: a relevant item
""",
    "the first 2 ** 40 places of two lists": """
>>> from recsample.metrics.graded import dcg, ndcg
>>> dcg([[5], [1]], k=2**40).tolist(), ndcg([[5, 0], [0, 0, 1]], k=2**40).tolist()
([5.0, 1.0], [1.0, 0.5])
""",
}
