from . import base as base
from . import counts as counts
from . import engines as engines
from . import predicted as predicted
from . import provenance as provenance
from .base import Ranks as Ranks
from .counts import RankCounts as RankCounts
from .predicted import predicted_ranks as predicted_ranks
