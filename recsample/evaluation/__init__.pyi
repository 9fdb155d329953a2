from . import command_line as command_line
from . import evaluating as evaluating
from . import reporting as reporting
from . import results as results
from .evaluating import evaluate as evaluate
from .reporting import report as report
from .results import Result as Result
