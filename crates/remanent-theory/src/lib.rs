//! Replica and Franz–Parisi theory of continual learning with binary weights.
//!
//! This crate solves the equations of *Statistical mechanics of continual learning: variational
//! principle and mean-field potential* ([arXiv:2212.02846](https://arxiv.org/abs/2212.02846), PRE
//! 108, 014309) to 1e-8, on every branch, for any number of tasks. A perceptron whose binary weights
//! have magnetisations $m_i$ learns $\alpha N$ patterns of a teacher at inverse temperature $\beta$;
//! later tasks add a KL divergence to what the previous task left, with a factor $\gamma$.
//!
//! # One task
//!
//! ```
//! use remanent_theory::curve::Branch;
//! use remanent_theory::parameters::{Choice, DomainError};
//! use remanent_theory::single::SingleTask;
//!
//! # fn main() -> Result<(), DomainError> {
//! let task = SingleTask::new(20.0)?;
//! let stable = task.solve(1.7, Choice::Stable)?;
//! assert_eq!(stable.branch, Branch::Good);
//! assert!(stable.is_converged() && stable.quadrature_error < 1e-8);
//! // Three solutions coexist here; the poor one has broken replica symmetry.
//! let all = task.all(1.7)?;
//! assert_eq!(all.len(), 3);
//! assert!(all[0].replicon < 0.0 && all[0].eps > 0.2);
//! # Ok(())
//! # }
//! ```
//!
//! # A chain of tasks
//!
//! ```
//! use remanent_theory::chain::ChainParameters;
//!
//! # fn main() -> Result<(), remanent_theory::parameters::DomainError> {
//! let parameters = ChainParameters {
//!     alpha: vec![2.0, 2.0], // patterns per weight, one value per task
//!     beta: vec![20.0],      // one value for all tasks
//!     r_0: vec![0.5],        // overlap of neighbouring teachers
//!     gamma: vec![1.0],      // how strongly the old task is protected
//!     ..Default::default()
//! };
//! let result = parameters.check()?.solve();
//! let [before, after] = [0, 1].map(|t| result.tasks[t].eps_by_task[0]);
//! assert!(before < after, "the first task is partly forgotten");
//! # Ok(())
//! # }
//! ```
//!
//! Parameters are checked first (`check`, `new`); what was checked is solved and never panics.
//! A task without a solution is a [`Solution`](solution::Solution) whose `termination` says why and
//! whose numbers are NaN. Results serialise and deserialise with serde; NaN is `null` in JSON.
//!
//! # Where to start
//!
//! | question | module |
//! |---|---|
//! | order parameters and error of one task, q_d free or fixed | [`single`] |
//! | errors on all tasks of a chain | [`chain`], over values of a parameter [`scan`] |
//! | which γ forgets least | [`tune`] |
//! | all solutions over α, folds, crossing, replicon zeros | [`branches`] |
//! | the same lines over β, and the critical point | [`phase`] |
//! | any of these with broken replica symmetry | [`rsb`] |
//! | a sketch of the curve in a fraction of the time | [`outline`] |
//! | stop a computation from outside | [`cancel`] |
//!
//! # Inside
//!
//! The equations of one task relate order parameters and their conjugates
//! ([`overlaps`]). The energetic side is
//! $$\hat q_0 = \frac{\alpha}{\kappa}\,\mathbb E\,[L_x^2],\qquad \kappa = 1 - q_d,$$
//! and the entropic side averages the measure of one magnetisation,
//! $e^{-A m^2/2 + B m + c S(m)}$, over the field
//! $B = \hat r + \sqrt{\hat q_0}\,z + c\,\tilde\theta$, in which $\tilde\theta$ is what the previous task left.
//!
//! Modules import only modules of the lines above their own:
//!
//! 1. [`parameters`] (what is asked, errors), [`ranges`], [`cancel`] (stopping), `number` (NaN in JSON), [`overlaps`] (order parameters), [`agreement`] (overlaps of signs), [`site`] (one magnetisation in
//!    a field), `gaussians` (sums of them), then `law` (densities on panels), `points` (of the curve of solutions);
//! 2. [`resolution`] (node counts);
//! 3. `smoothness` (of the law of a field), `condensed` (that law on fewer nodes), [`energy`] (the energetic side), [`inherited`] (the law that a task inherits), [`fading`] (how it is
//!    weakened before);
//! 4. [`fields`] (averages over the field);
//! 5. [`posterior`] (the law that a task leaves), [`task`] (the closed equations);
//! 6. `ends` (where the curve of solutions starts), then `strand` (a connected piece), then [`curve`]
//!    (all pieces);
//! 7. [`roots`] (solutions at one α), [`solution`] (what is reported);
//! 8. `stage` (more nodes until nothing changes);
//! 9. [`single`], then [`chain`] and [`branches`], then [`stationary`], [`scan`], [`tune`], [`phase`],
//!    [`outline`] and [`rsb`].

pub mod agreement;
pub mod branches;
pub mod cancel;
pub mod chain;
mod condensed;
pub mod curve;
mod ends;
pub mod energy;
pub mod fading;
pub mod fields;
mod free_energy;
mod gaussians;
pub mod inherited;
mod law;
mod number;
pub mod outline;
pub mod overlaps;
pub mod parameters;
pub mod phase;
mod points;
pub mod posterior;
pub mod ranges;
pub mod resolution;
pub mod roots;
pub mod rsb;
pub mod scan;
pub mod single;
pub mod site;
mod smoothness;
pub mod solution;
mod stage;
pub mod stationary;
mod strand;
pub mod task;
pub mod tune;
