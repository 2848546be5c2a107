"""Experiments: simulations of perceptrons and training of networks.

Arguments have the names of the command's options and of the keys of its TOML files.
"""

from ._experiments import bind

simulate = bind("simulate", __name__)
bound = bind("bound", __name__)
convergence_time = bind("convergence_time", __name__)
train = bind("train", __name__)

__all__ = ["bound", "convergence_time", "simulate", "train"]

del bind
