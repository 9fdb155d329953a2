from . import inverse as inverse
from . import scanning as scanning
from . import stopping as stopping
from .inverse import InverseSampling as InverseSampling
from .scanning import Scan as Scan
from .stopping import EarlyStopping as EarlyStopping
