import recsample.ranks
import recsample.sampling.sequential

from . import base as base
from . import consistency as consistency
from . import given_lists as given_lists
from . import importance as importance
from . import list_checks as list_checks
from . import pooled as pooled
from . import popularity as popularity
from . import sequential as sequential
from . import uniform as uniform
from .base import Design as Design
from .base import HasLaw as HasLaw
from .base import Observed as Observed
from .base import Sampler as Sampler
from .base import SumsOverLaw as SumsOverLaw
from .base import verify_law as verify_law
from .given_lists import GivenLists as GivenLists
from .given_lists import given_ranks as given_ranks
from .given_lists import uniform_lists as uniform_lists
from .importance import ImportanceSampling as ImportanceSampling
from .pooled import PooledSampling as PooledSampling
from .popularity import PopularitySampling as PopularitySampling
from .sequential.doubling import DoublingSampling as DoublingSampling
from .sequential.inverse import InverseSampling as InverseSampling
from .sequential.scanning import Scan as Scan
from .sequential.stopping import EarlyStopping as EarlyStopping
from .sequential.two_phase import TwoPhase as TwoPhase
from .uniform import UniformSampling as UniformSampling

doubling = recsample.sampling.sequential.doubling
early_stopping = recsample.sampling.sequential.stopping
inverse = recsample.sampling.sequential.inverse
scanning = recsample.sampling.sequential.scanning
two_phase = recsample.sampling.sequential.two_phase
