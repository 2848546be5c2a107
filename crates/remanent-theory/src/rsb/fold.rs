//! Where a curve of solutions turns back: the spinodals of a broken branch.
//!
//! Along the curve ln α(s) = ln α_f + ½ b (s − s_f)² near a fold, with s the length of the
//! curve in the solver's coordinates. The tangent says where it vanishes, and α on
//! both sides of the place refines that.

use remanent_math::continuation::{Point, advance};

use super::trace::{Care, Trace};
use crate::points::summit;

/// A place where α is extremal along a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold<const M: usize> {
    pub(super) point: Point<M>,
    /// d² ln α / ds².
    pub(super) bend: f64,
}

impl<const M: usize> Trace<'_, M> {
    /// Whether α is extremal between points i and i + 1. A curve that is narrow all along runs from onset to closing
    /// with rising α; the tangent's component along α is too small there to have a sign.
    pub(super) fn turns(&self, i: usize) -> bool {
        self.care != Care::Narrow
            && self.points[i].tangent[M - 1] * self.points[i + 1].tangent[M - 1] < 0.0
    }

    /// All folds, in the order of the curve.
    pub(super) fn all_folds(&self) -> Vec<Fold<M>> {
        (0..self.points.len() - 1).filter(|&i| self.turns(i)).filter_map(|i| self.fold(i)).collect()
    }

    /// The fold between points i and i + 1, located at full resolution.
    pub(super) fn fold(&self, i: usize) -> Option<Fold<M>> {
        *self.folds[i].get_or_init(|| {
            let summit = summit(&self.points[i], &self.points[i + 1]);
            self.fold_near(self.between(i, summit)?)
        })
    }

    /// A secant iteration along the curve for the place where α is extremal.
    fn fold_near(&self, mut point: Point<M>) -> Option<Fold<M>> {
        let mut f = self.system.equations::<M>();
        let mut bend = {
            let ahead = advance(&mut f, &point, 0.02, 1e-10)?;
            (ahead.tangent[M - 1] - point.tangent[M - 1]) / 0.02
        };
        for _ in 0..20 {
            let along = (-point.tangent[M - 1] / bend).clamp(-0.2, 0.2);
            let next = advance(&mut f, &point, along, 1e-10)?;
            if along.abs() > 1e-3 {
                bend = (next.tangent[M - 1] - point.tangent[M - 1]) / along;
            }
            point = next;
            if along.abs() < 3e-5 {
                return self.polished_fold(point, bend);
            }
        }
        None
    }

    /// The tangent is known to the accuracy of finite differences; α on both sides of
    /// a fold is known far better, and says where the fold is. The derivative of fourth order
    /// leaves an error of the order of h⁴ in the state.
    fn polished_fold(&self, point: Point<M>, bend: f64) -> Option<Fold<M>> {
        let h = 2e-3;
        let mut f = self.system.equations::<M>();
        let mut ln_alpha = |s: f64| Some(advance(&mut f, &point, s, 1e-12)?.y[M - 1]);
        let near = ln_alpha(h)? - ln_alpha(-h)?;
        let far = ln_alpha(2.0 * h)? - ln_alpha(-2.0 * h)?;
        let slope = (8.0 * near - far) / (12.0 * h);
        let point = advance(&mut f, &point, -slope / bend, 1e-12)?;
        Some(Fold { point, bend })
    }
}
