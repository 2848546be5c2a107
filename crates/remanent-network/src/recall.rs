//! When the divergence from the previous step is an array, and when a step computes it again
//! ([`fused::previous`](crate::fused::previous)).

use remanent_math::adam::AdamStep;

use crate::fused::previous::Previous;
use crate::learner::{Learner, Optimizer, Parameters};
use crate::trainer::{Moment, Trainer};

impl Parameters {
    /// Whether the divergence from the previous step is a function of θ, the moments of Adam and numbers that all
    /// weights share. It is then computed in each step instead of being stored. Steps of single images store it: their
    /// weights are in the cache, where a root and a quotient take longer than eight bytes.
    pub fn recalls_steps(&self) -> bool {
        self.learner == Learner::Vcl
            && self.anchor.steps()
            && self.optimizer == Optimizer::Adam
            && !self.metaplastic
            && self.batch > 1
    }
}

impl Trainer {
    /// Before a step: the divergence from the previous one becomes an array for once, if this step cannot compute it
    /// while it is made. `estimated` says whether its roots and quotients are those of estimates.
    pub(crate) fn recall_where_needed(&mut self, moment: &Moment, estimated: bool) {
        if self.previous.is_some_and(|previous| !previous.suits(moment.beta, estimated)) {
            self.recall();
        }
    }

    /// The divergence from the previous step becomes an array until the next step, which uses it.
    pub(crate) fn recall(&mut self) {
        let Some(previous) = self.previous.take() else { return };
        let adam = self.adam_step(1.0);
        for (layer, memory) in self.network.layers.iter().zip(&mut self.memories) {
            let moments = [&*memory.first, &memory.second];
            memory.kept = previous.divergence(&adam, &layer.theta, moments);
        }
    }

    /// After a step: what the next one needs to compute the divergence from it.
    pub(crate) fn remember(&mut self, adam: &AdamStep, moment: &Moment, estimated: bool) {
        if self.parameters.recalls_steps() {
            self.memories.iter_mut().for_each(|memory| memory.kept = Vec::new());
            self.previous = Some(Previous::of(adam, moment.beta, estimated));
        }
    }
}

#[cfg(test)]
mod tests {
    use remanent_data::digits;

    use super::*;
    use crate::course::{Course, CourseSpec, Event};
    use crate::fading::Fading;
    use crate::learner::Anchor;
    use crate::schedule::RateSchedule;
    use crate::tensors::Tensors;

    /// Learners whose steps change in every way: β from epoch to epoch, the rate from step to step, a last batch of a
    /// single image, fields that are moved at a switch.
    fn cases() -> Vec<Parameters> {
        let vcl = Parameters { hidden: vec![18, 14], batch: 33, ..Parameters::of(Learner::Vcl) };
        let both = Parameters {
            anchor: Anchor::Both,
            lr_schedule: RateSchedule::Cosine,
            fading: Fading { lambda: 0.9, rho: 0.8, ..Fading::default() },
            reset_fields: true,
            ..vcl.clone()
        };
        let window =
            Parameters { window: Some(50), reset_fields: false, batch: 32, ..both.clone() };
        vec![vcl, both, window]
    }

    /// θ after every step. Before each of them, `between` is called.
    fn fields(parameters: &Parameters, between: impl Fn(&mut Course<'_>)) -> Vec<Vec<f32>> {
        let digits = digits::load();
        let images = digits.train().split_end(1337).unwrap().0;
        assert_eq!(images.len(), 100);
        let spec = CourseSpec {
            parameters,
            tasks: Box::new(vec![images; 2]),
            inputs: 64,
            epochs: &[2, 2],
            classes: 10,
            seed: 8,
            trial: 1,
        };
        let (mut course, mut fields) = (Course::new(spec).unwrap(), Vec::new());
        loop {
            between(&mut course);
            if course.advance().unwrap() == Event::End {
                return fields;
            }
            let layers = course.network().layers().iter();
            fields.push(layers.flat_map(|layer| layer.theta().to_vec()).collect());
        }
    }

    #[test]
    fn a_recalled_step_has_the_bits_of_a_stored_one() {
        for parameters in cases() {
            assert!(parameters.recalls_steps());
            let recalled = fields(&parameters, |_| {});
            let stored = fields(&parameters, |course| course.trainer.recall());
            assert_eq!(recalled, stored, "{parameters:?}");
        }
    }

    /// They have the array, and do not know the last step.
    #[test]
    fn checkpoints_of_earlier_programs_are_continued() {
        for parameters in cases() {
            let whole = fields(&parameters, |_| {});
            let continued = fields(&parameters, |course| {
                course.trainer.recall();
                let (about, arrays) = course.save();
                let bytes = arrays.encode("checkpoint", &about).unwrap();
                let (about, tensors) = Tensors::decode(&bytes, "checkpoint").unwrap();
                assert!(about.get("previous").is_none());
                course.restore(&about, tensors).unwrap();
            });
            assert_eq!(whole, continued, "{parameters:?}");
        }
    }

    #[test]
    fn what_is_not_a_function_of_the_moments_is_stored() {
        let vcl = Parameters::of(Learner::Vcl);
        assert!(vcl.recalls_steps());
        let others = [
            Parameters { anchor: Anchor::Task, ..vcl.clone() },
            Parameters { metaplastic: true, ..vcl.clone() },
            Parameters { optimizer: Optimizer::Sgd, ..vcl.clone() },
            Parameters { batch: 1, ..vcl.clone() },
            Parameters { anchor: Anchor::Step, ..Parameters::of(Learner::Ewc) },
        ];
        assert!(others.iter().all(|parameters| !parameters.recalls_steps()));
    }
}
