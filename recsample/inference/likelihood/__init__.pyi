from . import limits as limits
