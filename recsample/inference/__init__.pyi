import recsample.evaluation
import recsample.evaluation.published
import recsample.evaluation.reporting
import recsample.evaluation.results
import recsample.inference.likelihood

from . import audit as audit
from . import blind as blind
from . import bounds as bounds
from . import comparison as comparison
from . import coverage as coverage
from . import distribution as distribution
from . import likelihood as likelihood
from . import planning as planning
from .audit import AuditPlan as AuditPlan
from .audit import plan_audit as plan_audit
from .blind import BlindSpot as BlindSpot
from .blind import blind_spot as blind_spot
from .bounds import Interval as Interval
from .bounds import certified_interval as certified_interval
from .bounds import sharp_bounds as sharp_bounds
from .comparison import Comparison as Comparison
from .comparison import StandardErrors as StandardErrors
from .comparison import bootstrap_order as bootstrap_order
from .comparison import compare_pairs as compare_pairs
from .comparison import order_probability as order_probability
from .comparison import paired_comparison as paired_comparison
from .comparison import shared_covariance as shared_covariance
from .comparison import standard_errors as standard_errors
from .distribution import LogSpline as LogSpline
from .distribution import best_gamma as best_gamma
from .distribution import expectation_maximisation as expectation_maximisation
from .distribution import log_spline as log_spline
from .distribution import maximum_entropy as maximum_entropy
from .distribution import plausible_prior as plausible_prior
from .distribution import plug_in as plug_in
from .distribution import rank_distribution as rank_distribution
from .likelihood.limits import Limits as Limits
from .likelihood.limits import limits as limits
from .planning import RequiredSamples as RequiredSamples
from .planning import required_samples as required_samples
from .planning import required_samples_from_pilot as required_samples_from_pilot

Result = recsample.evaluation.results.Result
from_published = recsample.evaluation.published.from_published
report = recsample.evaluation.reporting.report
reporting = recsample.evaluation.reporting
results = recsample.evaluation.results
strict_limits = recsample.inference.likelihood.limits
