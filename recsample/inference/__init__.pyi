import recsample.evaluation
import recsample.evaluation.published
import recsample.evaluation.reporting
import recsample.evaluation.results
import recsample.experiments
import recsample.inference.likelihood

from . import audit as audit
from . import blind as blind
from . import comparison as comparison
from . import distribution as distribution
from . import likelihood as likelihood
from .audit import AuditPlan as AuditPlan
from .audit import plan_audit as plan_audit
from .blind import BlindSpot as BlindSpot
from .blind import blind_spot as blind_spot
from .comparison import Comparison as Comparison
from .comparison import order_probability as order_probability
from .comparison import paired_comparison as paired_comparison
from .distribution import best_gamma as best_gamma
from .distribution import plausible_prior as plausible_prior
from .distribution import plug_in as plug_in
from .distribution import rank_distribution as rank_distribution
from .likelihood.limits import Limits as Limits
from .likelihood.limits import limits as limits

Result = recsample.evaluation.results.Result
from_published = recsample.evaluation.published.from_published
report = recsample.evaluation.reporting.report
reporting = recsample.evaluation.reporting
results = recsample.evaluation.results
strict_limits = recsample.inference.likelihood.limits
studies = recsample.experiments.studies
