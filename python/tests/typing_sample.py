"""Calls as users write them, for mypy."""

import numpy as np
import remanent as rm

solutions = rm.theory.single(alpha=np.linspace(0.1, 3, 30), beta=20, branch="stable", rsb=1)
shape: tuple[int, ...] = solutions.shape
chain = rm.theory.chain(alpha=[2, 3, 3], r0=0.5, gamma=1, scan={"gamma": [0, 1]})
tasks: list[rm.Table] = chain.tasks
run = rm.train(preset="digits", seeds=2, out="runs/digits", progress=lambda done, total: None)
accuracy = run.accuracy[0, 0] + 1.0
model: rm.Model = run.model()
classes = model.predict(np.zeros((1, 64)), how="sampled")
rm.simulate(alpha=[1, 1], learner="sgd", scan={"gamma": [0, 1]}, seeds=3).history
