//! A task of a stream: the images of a dataset, arranged and chosen.

use std::sync::Arc;

use remanent_math::philox::Stream;

use crate::dataset::{Arrangement, Dataset, View};

/// What the random numbers of the permutations are for; no other part of the program uses it.
pub const PERMUTATION_PURPOSE: u32 = 101;

/// The order of the pixels of a task: pixel j is pixel `permutation[j]` of the image.
pub fn permutation(inputs: usize, seed: u64, trial: u32, task: u32) -> Arc<[u32]> {
    let mut order: Vec<u32> = (0..inputs as u32).collect();
    Stream::new(seed, PERMUTATION_PURPOSE, trial, task).shuffle(&mut order);
    order.into()
}

/// One task: the images of a dataset, perhaps in another order of pixels, perhaps only some
/// classes. Cheap to clone; the images are shared.
#[derive(Clone, Debug)]
pub struct Task {
    pub(super) dataset: Arc<Dataset>,
    pub(super) selection: Option<Arc<Selection>>,
    pub(super) arranged: Arranged,
}

/// The arrangement of the pixels of a task.
#[derive(Clone, Debug)]
pub(super) enum Arranged {
    Plain,
    Permuted(Arc<[u32]>),
    Mixed { before: Arc<[u32]>, after: Arc<[u32]>, share: f64 },
    Rotated { degrees: f64, sources: Arc<[[(u32, f32); 4]]> },
}

impl Task {
    /// The dataset.
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The order of its pixels, if it has one that is not the dataset's.
    pub fn permutation(&self) -> Option<&[u32]> {
        match &self.arranged {
            Arranged::Permuted(order) => Some(order),
            Arranged::Plain | Arranged::Mixed { .. } | Arranged::Rotated { .. } => None,
        }
    }

    /// The arrangement of its pixels.
    pub fn arrangement(&self) -> Arrangement<'_> {
        match &self.arranged {
            Arranged::Plain => Arrangement::Plain,
            Arranged::Permuted(order) => Arrangement::Permuted(order),
            Arranged::Mixed { before, after, share } => {
                Arrangement::Mixed { before, after, share: *share }
            }
            Arranged::Rotated { sources, .. } => Arrangement::Blended(sources),
        }
    }

    /// Its classes, in order.
    pub fn classes(&self) -> Vec<u8> {
        match &self.selection {
            Some(selection) => selection.classes.clone(),
            None => (0..self.dataset.classes()).map(|class| class as u8).collect(),
        }
    }

    /// What it is, in a few words.
    pub fn name(&self) -> String {
        let name = self.dataset.name();
        match &self.selection {
            Some(selection) => {
                let classes: Vec<String> =
                    selection.classes.iter().map(|class| class.to_string()).collect();
                format!("{name} {}", classes.join(","))
            }
            None => match &self.arranged {
                Arranged::Plain => name.to_owned(),
                Arranged::Permuted(_) => format!("{name} permuted"),
                Arranged::Mixed { share, .. } => {
                    format!("{name} permuted, {:.0} % changed over", 100.0 * share)
                }
                Arranged::Rotated { degrees, .. } => format!("{name} turned by {degrees:.0}°"),
            },
        }
    }

    /// The images to train on.
    pub fn train(&self) -> View<'_> {
        self.view(self.dataset.train(), |selection| &selection.train)
    }

    /// The images to test on.
    pub fn test(&self) -> View<'_> {
        self.view(self.dataset.test(), |selection| &selection.test)
    }

    fn view<'a>(
        &'a self,
        mut view: View<'a>,
        images: impl Fn(&'a Selection) -> &'a Vec<u32>,
    ) -> View<'a> {
        if let Some(selection) = &self.selection {
            view = view.chosen(images(selection), &selection.classes);
        }
        view.arranged(self.arrangement())
    }
}

/// The images of the classes of a task.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) classes: Vec<u8>,
    pub(super) train: Vec<u32>,
    pub(super) test: Vec<u32>,
}
