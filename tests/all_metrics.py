"""Every metric of the package, with and without a cut-off, as their classes give themselves."""

from recsample.metrics import every_metric

# Not those that a test has made.
EVERY = [m for m in every_metric() if type(m).__module__.startswith("recsample.")]
CUT_OFF = [m for m in EVERY if m.takes_cutoff]
UNCUT = [m for m in EVERY if not m.needs_cutoff]
ALL = UNCUT + [M @ 4 for M in CUT_OFF]
