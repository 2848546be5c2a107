"""The theory for infinitely many weights: order parameters, branches, chains of tasks.

Arguments have the names of the command's options, and results those of its JSON output. Arguments broadcast like
NumPy's; scalars give scalars. All cores are used, and other Python threads go on.
"""

from ._questions import Chain, Solutions, Streams, bind

single = bind("single", __name__)
constrained = bind("constrained", __name__)
chain = bind("chain", __name__)
stationary = bind("stationary", __name__)
branches = bind("branches", __name__)
phase_diagram = bind("phase_diagram", __name__)
tune = bind("tune", __name__)
complexity = bind("complexity", __name__)
monte_carlo = bind("monte_carlo", __name__)

__all__ = [
    "Chain",
    "Solutions",
    "Streams",
    "branches",
    "chain",
    "complexity",
    "constrained",
    "monte_carlo",
    "phase_diagram",
    "single",
    "stationary",
    "tune",
]

del bind
