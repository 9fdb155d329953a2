"""The three recommenders of the paper's experiment: X (matrix factorisation), Y and Z (item-based).

Each learns from a sparse matrix of events, users by items, and predicts where the held-out items
stand: ``fit(train)``, then ``scores(users)`` or ``ranks(interactions)``. Equations and sections are
those of W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020,
https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._support import checks
from recsample._support.arrays import owners, row_blocks, summed
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.typing import Floats, Rng, Sparse
from recsample.ranks.base import Ranks
from recsample.ranks.predicted import predicted_ranks

if TYPE_CHECKING:
    from recsample.datasets.interactions import Interactions


# Scores and similarities are worked on in blocks of about this many numbers (8 MiB of float64).
_BLOCK = 2**20

_Learner = TypeVar("_Learner", bound="_Recommender")


class _Recommender(ABC):
    """Base class of the recommenders: checks, and ranking block by block."""

    _train: sparse.csr_matrix | None = None

    def fit(self: _Learner, train: Sparse) -> _Learner:
        """Learn from training events. A progress bar shows on long work.

        Parameters
        ----------
        train : sparse matrix, shape (users, items)
            The training events: its non-zeros, whatever their value.

        Returns
        -------
        MatrixFactorization or ItemKNN
            The recommender itself.

        Examples
        --------
        >>> from scipy import sparse
        >>> from recsample.recommenders import ItemKNN
        >>> ItemKNN(exponent=3).fit(sparse.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 1, 1]]))
        ItemKNN(exponent=3.0, n_neighbors=None)
        """
        events = _events(train)
        self._learn(events)
        self._train = events  # last, so that an interrupted fit leaves it unfitted
        return self

    def scores(self, users: ArrayLike) -> Floats:
        """Predicted scores of all items for some users.

        Parameters
        ----------
        users : array_like of int, shape (users,)
            Which users, 0-based.

        Returns
        -------
        ndarray of float, shape (users, items)
            A score per user and item, higher is better, the user's training items included.

        Examples
        --------
        >>> from scipy import sparse
        >>> from recsample.recommenders import ItemKNN
        >>> train = sparse.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
        >>> ItemKNN(exponent=1, n_neighbors=1).fit(train).scores([1]).round(4)
        array([[0.    , 0.5774, 0.    ]])
        """
        n_users, n_items = self._fitted().shape
        users = checks.whole_numbers("users", users, lowest=0)
        if users.ndim != 1:
            allowed = "must be a list of users"
            raise InputError("users", allowed).got(f"an array of shape {users.shape}")
        if users.size and users.max() >= n_users:
            raise InputError("users", f"must be below {n_users}").got(f"user {users.max()}")
        what, instead = f"the scores of {len(users)} users", "ask for fewer users at a time"
        checks.check_memory(8 * len(users) * n_items, what, instead)
        return self._scores(users)

    def ranks(self, interactions: Interactions) -> Ranks:
        """The rank of each user's held-out item among the items that are new to the user.

        The scores are formed for a block of users at a time. A progress bar shows on long work.

        Parameters
        ----------
        interactions : Interactions
            Its held-out items are ranked; its training items are left out of the ranking.

        Returns
        -------
        Ranks
            One rank per user, with its ties and the size of the user's own pool.

        Examples
        --------
        >>> from recsample.datasets.interactions import Interactions
        >>> from recsample.recommenders import ItemKNN
        >>> data = Interactions.from_pairs([0, 0, 1, 2, 2], [0, 1, 0, 1, 2], held_out=[2, 1, 0])
        >>> ItemKNN(exponent=1, n_neighbors=1).fit(data.train).ranks(data).values
        array([1, 1, 1])
        """
        tqdm = extra("tqdm").tqdm
        if not hasattr(interactions, "held_out"):
            raise InputError("interactions", "must be Interactions").got(checks.shown(interactions))
        train, held_out = interactions.train, interactions.held_out
        shape = self._fitted().shape
        if train.shape != shape:
            allowed = f"must have the shape of the training matrix, {shape}"
            raise InputError("interactions", allowed).got(train.shape)
        n_users, n_items = train.shape
        parts = []
        with tqdm(total=n_users, desc="ranks", unit="user", delay=10) as progress:
            for rows in row_blocks(n_users, n_items, _BLOCK):
                parts.append(predicted_ranks(self._scores(rows), held_out[rows], train[rows]))
                progress.update(rows.stop - rows.start)
        return Ranks.concatenate(parts)

    @abstractmethod
    def _learn(self, train):
        """Learn from a canonical matrix of events."""

    @abstractmethod
    def _scores(self, users):
        """The scores of users that are known to be in the training matrix: numbers, or a slice."""

    def _fitted(self):
        if self._train is None:
            raise RuntimeError(f"{self} is not fitted: call fit(train) first")
        return self._train


@dataclass(eq=False)
class MatrixFactorization(_Recommender):
    r"""Recommender X: matrix factorisation from implicit feedback, by alternating least squares.

    With user factors and item factors as the rows of :math:`V`, the score is
    :math:`\hat y(u, i) = \sum_f v_{u,f} v_{i,f}`, and the factors minimise the loss of section 9,

    .. math:: \sum_{(u,i) \in H} (\hat y(u, i) - 1)^2
              + \alpha \sum_u \sum_i \hat y(u, i)^2 + \lambda \|V\|^2 .

    Parameters
    ----------
    n_factors : int, optional
        Length :math:`d` of a factor.
    alpha : float, optional
        Weight :math:`\alpha` of the pull towards 0 of every score, observed or not.
    regularization : float, optional
        Weight :math:`\lambda` of the squared factors.
    n_iterations : int, optional
        How often the users' and then the items' factors are solved for; see the notes.
    rng : int or numpy.random.Generator, optional
        Source of the random start.

    Attributes
    ----------
    user_factors : ndarray of float, shape (users, n_factors)
    item_factors : ndarray of float, shape (items, n_factors)
        The factors after `fit`, in the scale of the loss above. Users and items without a
        training event have factor 0.

    Notes
    -----
    The work is done by ``implicit.als.AlternatingLeastSquares``, which weights an observed pair by
    a confidence :math:`c`, all others by 1, and regularises with :math:`\lambda'`. On an observed
    pair, completing the square gives

    .. math:: (y - 1)^2 + \alpha y^2
              = (1 + \alpha) \left(y - \tfrac{1}{1 + \alpha}\right)^2 + \text{constant}.

    Dividing the loss by :math:`\alpha` and writing :math:`y = y' / (1 + \alpha)` turns it into the
    library's loss with :math:`c = (1 + \alpha) / \alpha` and
    :math:`\lambda' = \lambda (1 + \alpha) / \alpha`, here 6 and 60. The library's factors are
    scaled by :math:`(1 + \alpha)^{-1/2}` to take :math:`y'` back to :math:`y`, which changes no
    rank.

    The loss is not convex, but on MovieLens-1M all of ten random starts ended in one minimum (up
    to a rotation of the factors): after 200 iterations their Recall@10 is 7.72 to 7.73 %, after 15
    still 7.6 to 8.0 %. The same seed gives the same factors on the same machine.

    Examples
    --------
    >>> from recsample.datasets.interactions import make_interactions
    >>> from recsample.recommenders import MatrixFactorization
    >>> interactions = make_interactions(n_users=60, n_items=50, n_events=1500, rng=0)
    >>> x = MatrixFactorization(n_factors=4).fit(interactions.train)
    >>> x.user_factors.shape, x.scores([0, 1]).shape
    ((60, 4), (2, 50))
    """

    n_factors: int = 16
    alpha: float = 0.2
    regularization: float = 10
    n_iterations: int = field(default=200, kw_only=True)
    rng: Rng = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.n_factors = checks.positive_int("n_factors", self.n_factors)
        self.alpha = checks.positive_float("alpha", self.alpha)
        self.regularization = checks.positive_float("regularization", self.regularization)
        self.n_iterations = checks.positive_int("n_iterations", self.n_iterations)
        checks.generator(self.rng)

    def _learn(self, train: sparse.csr_matrix) -> None:
        tqdm = extra("tqdm")
        with warnings.catch_warnings():
            # implicit imports tqdm's progress bar for notebooks, which it does not show here.
            warnings.simplefilter("ignore", tqdm.TqdmWarning)
            als = extra("implicit.als")
        alpha, scale = self.alpha, 1 + self.alpha
        # BLAS threads slow implicit down (it warns of them) and change the order of sums; its own
        # threads stall each other where the cores are busy.
        bar = {"desc": "matrix factorisation", "unit": "iteration", "delay": 10}
        with (
            extra("threadpoolctl").threadpool_limits(1, "blas"),  # which comes with implicit
            tqdm.tqdm(total=self.n_iterations, **bar) as progress,
        ):
            model = als.AlternatingLeastSquares(
                factors=self.n_factors,
                regularization=self.regularization * scale / alpha,
                dtype=np.float64,
                use_gpu=False,
                num_threads=1,
                iterations=self.n_iterations,
                random_state=checks.generator(self.rng),
            )
            confidence = train * (scale / alpha)
            model.fit(confidence, show_progress=False, callback=lambda *_: progress.update())
        self.user_factors: Floats = model.user_factors / np.sqrt(scale)
        self.item_factors: Floats = model.item_factors / np.sqrt(scale)

    def _scores(self, users):
        return self.user_factors[users] @ self.item_factors.T


@dataclass(eq=False)
class ItemKNN(_Recommender):
    r"""Recommenders Y and Z: item-based collaborative filtering, eqs. (27) to (30).

    ``ItemKNN(exponent=3)`` is the paper's Y, ``ItemKNN(exponent=1, n_neighbors=10)`` its Z.

    Parameters
    ----------
    exponent : float, optional
        The exponent :math:`q` of eq. (27), which sharpens the cosine between two items' users:
        :math:`s_{ij} = \cos(i, j)^q`.
    n_neighbors : int, optional
        Eq. (28): :math:`s_{ij}` counts where :math:`i` is among the `n_neighbors` items most
        similar to :math:`j`, the item itself left out. None: all count, :math:`s_{ii} = 1` too.
        Of items that are equally similar those with the lower index come first.

    Notes
    -----
    The published numbers are those of the *numerator* of eq. (30),
    :math:`\hat y(u, i) = \sum_{j: (u,j) \in H} s''_{ij}`. With the denominator, the norm of
    eq. (29) would cancel. They also need the selection above; printed next to eq. (28) is that of
    the :math:`j` nearest to :math:`i`.

    A score is a sum, which in floating point depends on the order of its terms. Scores are rounded
    to 40 binary (12 decimal) digits, so that equal ones are tied however the sums were formed.

    Examples
    --------
    >>> from recsample.recommenders import ItemKNN
    >>> ItemKNN(exponent=1, n_neighbors=10)
    ItemKNN(exponent=1.0, n_neighbors=10)
    """

    exponent: float = 1
    n_neighbors: int | None = None

    def __post_init__(self) -> None:
        self.exponent = checks.positive_float("exponent", self.exponent)
        if self.n_neighbors is not None:
            self.n_neighbors = checks.positive_int("n_neighbors", self.n_neighbors)

    @property
    def similarity(self) -> Floats | Sparse:
        """The similarities s'' of eq. (29) after `fit`, shape (items, items).

        They are dense where that takes less memory. Row i has Euclidean norm 1, or 0 for an item
        with no neighbour or no training event.

        Examples
        --------
        >>> from scipy import sparse
        >>> from recsample.recommenders import ItemKNN
        >>> train = sparse.csr_matrix([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
        >>> ItemKNN(exponent=1).fit(train).similarity.round(3)
        array([[0.894, 0.447, 0.   ],
               [0.378, 0.756, 0.535],
               [0.   , 0.577, 0.816]])
        """
        self._fitted()
        return self._from.T

    def _learn(self, train: sparse.csr_matrix) -> None:
        # Transposed, row j holds column j of s': what j adds to the score of each item.
        nearest = _squared_cosines(train, self.n_neighbors)
        # A factor common to row i of s' does not change s''. With the row's largest entry as 1,
        # no exponent is too large.
        largest = nearest.max(axis=0).toarray().ravel()
        nearest.data = (nearest.data / largest[nearest.indices]) ** (self.exponent / 2)
        norm = np.sqrt(summed(nearest.indices, nearest.data**2, len(largest)))
        nearest.data /= norm[nearest.indices]
        # Dense where that takes less memory: 8 bytes for every number against 12 for a non-zero.
        self._from = nearest.toarray() if 12 * nearest.nnz > 8 * len(norm) ** 2 else nearest

    def _scores(self, users):
        # Whatever the storage, a sparse row times a matrix adds up in the order of the history,
        # so that no score depends on the other users of its block.
        scores = self._train[users].astype(float) @ self._from
        if not sparse.issparse(scores):
            return _rounded(scores)
        scores.data = _rounded(scores.data)  # before there are as many numbers as items
        return scores.toarray()


def _squared_cosines(train, n_neighbors):
    """CSR matrix: row j holds the squared cosine of i and j for the items i that count for j."""
    tqdm = extra("tqdm").tqdm
    by_item = train.T.tocsr().astype(float)
    n_events = np.diff(by_item.indptr)
    n_items = len(n_events)
    rows, n_bytes = [], 0
    with tqdm(total=n_items, desc="similarities", unit="item", delay=10) as progress:
        for start, stop in _item_blocks(train):
            # Squared cosines are quotients of whole numbers: where two are equal, so are the
            # floats, and the neighbours at the border are as tied here as they are on paper.
            block = (by_item[start:stop] @ train).tocsr()
            block.sort_indices()
            row = start + owners(np.diff(block.indptr))
            block.data = block.data**2 / (n_events[row].astype(float) * n_events[block.indices])
            if n_neighbors is not None:
                block = _nearest(block, start, n_neighbors)
            rows.append(block)
            n_bytes += 12 * block.nnz
            checks.check_memory(2 * n_bytes, "the similarities", "keep fewer, by n_neighbors")
            progress.update(stop - start)
    return sparse.vstack(rows, format="csr")


def _item_blocks(train):
    """Ranges of items that share users with about _BLOCK items in all, at least one item each."""
    # An item shares users with at most as many items as its users have events.
    shared = train.T.astype(float) @ np.diff(train.indptr)
    block = np.cumsum(np.minimum(shared, train.shape[1])) // _BLOCK
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    return zip(starts, np.append(starts[1:], len(block)))


def _nearest(block, start, n_neighbors):
    """The n_neighbors largest entries of each row, its own item left out, lower index first."""
    row = start + owners(np.diff(block.indptr))
    block.data[block.indices == row] = 0
    for long in np.flatnonzero(np.diff(block.indptr) > n_neighbors):
        entries = block.data[block.indptr[long] : block.indptr[long + 1]]
        least = np.partition(entries, -n_neighbors)[-n_neighbors]
        as_small = np.flatnonzero(entries == least)
        entries[as_small[n_neighbors - np.count_nonzero(entries > least) :]] = 0
        entries[entries < least] = 0
    block.eliminate_zeros()
    return block


def _rounded(scores):
    """Scores to 40 of their 53 binary digits: half of Dekker's splitting of a float."""
    scaled = scores * (2.0**13 + 1)
    return scaled - (scaled - scores)


def _events(train):
    """A canonical CSR matrix with True at every event."""
    if not sparse.issparse(train) or train.ndim != 2:
        raise InputError("train", "must be a sparse matrix").got(type(train).__name__)
    entries = train.tocoo()
    if entries.dtype.kind not in "biuf":
        raise InputError("train", "must hold numbers").got(f"entries of type {entries.dtype}")
    bad = ~((entries.data >= 0) & (entries.data < np.inf))
    allowed, got = "must hold finite entries of at least 0", "{} for user {}, item {}"
    checks.refuse_first(bad, "train", allowed, got, entries.data, entries.row, entries.col)
    is_event = entries.data != 0
    train = sparse.csr_matrix(
        (is_event[is_event], (entries.row[is_event], entries.col[is_event])), shape=train.shape
    )
    if not train.nnz:
        raise InputError("train", "must hold at least one event").got(
            f"none in shape {train.shape}"
        )
    return train
