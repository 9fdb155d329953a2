import recsample.evaluation.command_line
import recsample.ranks.counts
import recsample.ranks.engines

from . import corrections as corrections
from . import datasets as datasets
from . import evaluation as evaluation
from . import experiments as experiments
from . import inference as inference
from . import metrics as metrics
from . import plotting as plotting
from . import ranks as ranks
from . import recommenders as recommenders
from . import sampling as sampling
from .corrections import BiasVariance as BiasVariance
from .corrections import ConstrainedLeastSquares as ConstrainedLeastSquares
from .corrections import MinimalBias as MinimalBias
from .corrections import RankEstimate as RankEstimate
from .evaluation import evaluate as evaluate
from .evaluation import report as report
from .metrics import AP as AP
from .metrics import AR as AR
from .metrics import AUC as AUC
from .metrics import DCG as DCG
from .metrics import F1 as F1
from .metrics import NDCG as NDCG
from .metrics import RBP as RBP
from .metrics import RR as RR
from .metrics import Accuracy as Accuracy
from .metrics import HitRate as HitRate
from .metrics import Metric as Metric
from .metrics import PercentileRank as PercentileRank
from .metrics import Precision as Precision
from .metrics import RankScore as RankScore
from .metrics import Recall as Recall
from .metrics import RPrecision as RPrecision
from .metrics import compare as compare
from .metrics import metric as metric
from .ranks import RankCounts as RankCounts
from .ranks import RankedItems as RankedItems
from .ranks import Ranks as Ranks
from .ranks import predicted_ranks as predicted_ranks
from .ranks import ranked_items as ranked_items
from .sampling import Design as Design
from .sampling import EarlyStopping as EarlyStopping
from .sampling import InverseSampling as InverseSampling
from .sampling import Observed as Observed
from .sampling import PooledSampling as PooledSampling
from .sampling import Sampler as Sampler
from .sampling import UniformSampling as UniformSampling
from .sampling import given_ranks as given_ranks
from .sampling import uniform_lists as uniform_lists

command_line = recsample.evaluation.command_line
counts = recsample.ranks.counts
scale = recsample.ranks.engines

__version__: str
