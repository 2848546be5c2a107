//! A course depends on nothing but its parameters and its seed: not on interruptions, not on what
//! runs beside it. And what it holds and saves has a bounded size.

use std::thread;

use remanent_data::dataset::{Dataset, View};
use remanent_data::digits;
use remanent_network::architecture::{Activation, Normalisation};
use remanent_network::course::{Course, CourseSpec, Event};
use remanent_network::fading::Fading;
use remanent_network::learner::{Anchor, FirstPrior, Fisher, Form, Learner, Optimizer, Parameters};
use remanent_network::product::Precision;
use remanent_network::schedule::RateSchedule;
use remanent_network::tensors::Tensors;

const EPOCHS: [usize; 2] = [2, 2];

/// Two tasks of 100 and 85 images: with batches of 32, epochs of four and of three steps that end
/// with a small batch.
fn tasks(digits: &Dataset) -> Vec<View<'_>> {
    let (first, rest) = digits.train().split_end(1337).unwrap();
    assert_eq!(first.len(), 100);
    vec![first, rest.first(85).unwrap()]
}

fn of(learner: Learner) -> Parameters {
    Parameters { hidden: vec![18, 14], batch: 32, ..Parameters::of(learner) }
}

fn course<'a>(parameters: &Parameters, tasks: &[View<'a>], seed: u64) -> Course<'a> {
    let epochs = if parameters.learner == Learner::Joint { &EPOCHS[..1] } else { &EPOCHS };
    let (inputs, tasks) = (tasks[0].inputs(), Box::new(tasks.to_vec()));
    let classes = 10;
    Course::new(CourseSpec { parameters, tasks, inputs, epochs, classes, seed, trial: 1 }).unwrap()
}

fn run_to_the_end(course: &mut Course<'_>) {
    while course.advance().unwrap() != Event::End {}
}

/// All that a course depends on, as the bytes of a file.
fn saved(course: &Course<'_>) -> Vec<u8> {
    let (about, arrays) = course.save();
    arrays.encode("checkpoint", &about).unwrap()
}

fn restore(course: &mut Course<'_>, bytes: &[u8]) {
    let (about, tensors) = Tensors::decode(bytes, "checkpoint").unwrap();
    course.restore(&about, tensors).unwrap();
}

/// Learners that remember in every way there is.
fn learners() -> Vec<(&'static str, Parameters)> {
    let both = Parameters { anchor: Anchor::Both, ..of(Learner::Vcl) };
    vec![
        ("vcl both", both.clone()),
        (
            "vcl both, learned scale, layer",
            Parameters { learned_scale: true, normalisation: Normalisation::Layer, ..both.clone() },
        ),
        (
            "vcl both, learned scale, batch",
            Parameters { learned_scale: true, normalisation: Normalisation::Batch, ..both.clone() },
        ),
        (
            "vcl, fading, cosine",
            Parameters {
                anchor: Anchor::Task,
                first_prior: FirstPrior::Uniform,
                fading: Fading { lambda: 0.9, rho: 0.8, ..Fading::default() },
                reset_fields: true,
                lr_schedule: RateSchedule::Cosine,
                ..of(Learner::Vcl)
            },
        ),
        (
            "vcl both, learned scale, moments that begin anew",
            Parameters { reset_moments: true, learned_scale: true, ..both },
        ),
        ("vcl, window", Parameters { anchor: Anchor::Task, window: Some(50), ..of(Learner::Vcl) }),
        ("ewc online", Parameters { fisher: Fisher::Online, ..of(Learner::Ewc) }),
        ("ewc both", Parameters { anchor: Anchor::Both, ..of(Learner::Ewc) }),
        ("ewc empirical", Parameters { fisher: Fisher::Empirical, ..of(Learner::Ewc) }),
        (
            "metaplasticity original, batch",
            Parameters {
                form: Form::Original,
                optimizer: Optimizer::Adam,
                activation: Activation::Sign,
                normalisation: Normalisation::Batch,
                meta: vec![0.5, 1.0],
                ..of(Learner::Metaplasticity)
            },
        ),
        ("metaplasticity printed", of(Learner::Metaplasticity)),
        ("ste", of(Learner::Ste)),
        ("joint", of(Learner::Joint)),
        ("bayesbinn", of(Learner::BayesBinn)),
        (
            "bayesbinn, learned scale, batch",
            Parameters {
                learned_scale: true,
                normalisation: Normalisation::Batch,
                ..of(Learner::BayesBinn)
            },
        ),
        ("bimu, standardised", Parameters { standardise: Some([0.3, 0.4]), ..of(Learner::Bimu) }),
        ("si", of(Learner::Si)),
        ("mesu", of(Learner::Mesu)),
        ("sgd", of(Learner::Sgd)),
        ("vcl, bf16", Parameters { precision: Precision::Bf16, ..of(Learner::Vcl) }),
        ("vcl, a last batch of one image", Parameters { batch: 33, ..of(Learner::Vcl) }),
        (
            "vcl both, bf16, a last batch of one image, cosine, moved fields",
            Parameters {
                batch: 33,
                anchor: Anchor::Both,
                precision: Precision::Bf16,
                reset_fields: true,
                lr_schedule: RateSchedule::Cosine,
                ..of(Learner::Vcl)
            },
        ),
        (
            "vcl both, metaplastic",
            Parameters { metaplastic: true, anchor: Anchor::Both, ..of(Learner::Vcl) },
        ),
        ("bimu, bf16", Parameters { precision: Precision::Bf16, batch: 7, ..of(Learner::Bimu) }),
        ("vcl, one image", Parameters { batch: 1, anchor: Anchor::Both, ..of(Learner::Vcl) }),
        ("sgd, one image", Parameters { batch: 1, ..of(Learner::Sgd) }),
    ]
}

#[test]
fn a_course_goes_on_from_any_step_as_if_it_had_not_stopped() {
    let digits = digits::load();
    let tasks = tasks(&digits);
    for (name, parameters) in learners() {
        let mut whole = course(&parameters, &tasks, 8);
        let mut checkpoints = vec![saved(&whole)];
        let mut events = Vec::new();
        loop {
            let event = whole.advance().unwrap();
            checkpoints.push(saved(&whole));
            if event == Event::End {
                break;
            }
            events.push(event);
        }
        assert_eq!(events.len() as u64, whole.steps(), "{name}");
        let phases = events.iter().filter(|&&event| event == Event::Phase).count();
        assert_eq!(phases, whole.phases(), "{name}");
        assert!(events.contains(&Event::Epoch), "{name}");
        let end = &checkpoints[checkpoints.len() - 1];

        for (step, checkpoint) in checkpoints.iter().enumerate() {
            let mut resumed = course(&parameters, &tasks, 8);
            restore(&mut resumed, checkpoint);
            assert!(saved(&resumed) == *checkpoint, "{name}: saved again at step {step}");
            if resumed.advance().unwrap() != Event::End {
                assert!(saved(&resumed) == checkpoints[step + 1], "{name}: after step {step}");
            }
            run_to_the_end(&mut resumed);
            assert!(saved(&resumed) == *end, "{name}: at the end, resumed at step {step}");
        }
    }
}

#[test]
fn where_a_course_stood_before_it_was_restored_does_not_matter() {
    let digits = digits::load();
    let tasks = tasks(&digits);
    for (name, parameters) in learners() {
        let mut whole = course(&parameters, &tasks, 8);
        (0..2).for_each(|_| assert_eq!(whole.advance(), Ok(Event::Step)));
        let checkpoint = saved(&whole);
        run_to_the_end(&mut whole);
        // In the second epoch, at the end of the first phase, in the second.
        for ahead in [6, 8, 10, 14] {
            let mut other = course(&parameters, &tasks, 8);
            (0..ahead).for_each(|_| _ = other.advance().unwrap());
            restore(&mut other, &checkpoint);
            run_to_the_end(&mut other);
            assert!(saved(&other) == saved(&whole), "{name}: restored from step {ahead}");
        }
    }
}

#[test]
fn a_checkpoint_tells_courses_of_different_seeds_apart() {
    let digits = digits::load();
    let tasks = tasks(&digits);
    let parameters = of(Learner::Vcl);
    let after = |seed| {
        let mut course = course(&parameters, &tasks, seed);
        run_to_the_end(&mut course);
        saved(&course)
    };
    assert!(after(1) == after(1));
    assert!(after(1) != after(2));
}

#[test]
fn courses_side_by_side_end_as_they_do_one_after_another() {
    let digits = digits::load();
    let tasks = &tasks(&digits);
    for (name, parameters) in &learners() {
        let end = |seed: u64| {
            let mut course = course(parameters, tasks, seed);
            run_to_the_end(&mut course);
            saved(&course)
        };
        let beside = thread::scope(|scope| {
            let courses = [3, 4].map(|seed| scope.spawn(move || end(seed)));
            courses.map(|course| course.join().unwrap())
        });
        assert!(beside == [end(3), end(4)], "{name}");
    }
}

#[test]
fn the_empirical_information_is_refused_where_it_is_not_defined() {
    let fine = Parameters { fisher: Fisher::Empirical, ..of(Learner::Ewc) };
    fine.check(2, 4).unwrap();
    for anchor in [Anchor::None, Anchor::Step, Anchor::Both] {
        let text = Parameters { anchor, ..fine.clone() }.check(2, 4).unwrap_err().to_string();
        assert!(text.contains("anchor task"), "{text}");
    }
    let batch = Parameters { normalisation: Normalisation::Batch, ..fine.clone() };
    let text = batch.check(2, 4).unwrap_err().to_string();
    assert!(text.contains("layer or none"), "{text}");
    // Other learners have no such information.
    Parameters { learner: Learner::Vcl, ..batch }.check(2, 4).unwrap();
}

#[test]
fn what_is_held_and_saved_is_bounded_by_the_number_of_weights() {
    let digits = digits::load();
    let tasks = tasks(&digits);
    let learners =
        [Learner::Vcl, Learner::Ewc, Learner::Metaplasticity, Learner::Ste, Learner::Joint];
    let anchors = [Anchor::None, Anchor::Step, Anchor::Task, Anchor::Both];
    let (mut most_saved, mut most_held) = (0, 0);
    for learner in learners {
        for anchor in anchors {
            for optimizer in [Optimizer::Adam, Optimizer::Sgd] {
                for fisher in [Fisher::Variance, Fisher::Empirical] {
                    for normalisation in [Normalisation::Layer, Normalisation::Batch] {
                        let parameters = Parameters {
                            anchor,
                            optimizer,
                            fisher,
                            normalisation,
                            learned_scale: true,
                            lr: 1e-3,
                            ..of(learner)
                        };
                        if parameters.check(2, 4).is_err() {
                            // Not to be had, so not to be saved.
                            continue;
                        }
                        let mut course = course(&parameters, &tasks, 8);
                        run_to_the_end(&mut course);
                        let network = course.network();
                        let weights = network.architecture().weights();
                        // Gain, shift, two averages and four moments a neuron; two of the scale.
                        let neurons: usize = network.architecture().widths[1..].iter().sum();
                        let small = 8 * neurons + 2;
                        let saved = course.save().1.count();
                        assert!(saved <= 5 * weights + small, "{parameters:?} saves {saved}");
                        let layers = network.layers().iter().zip(course.trainer().memories());
                        let held: usize = layers
                            .map(|(layer, memory)| {
                                layer.theta().len()
                                    + layer.mean().len()
                                    + layer.variance().len()
                                    + memory.len()
                            })
                            .sum();
                        assert!(held <= 12 * weights, "{parameters:?} holds {held}");
                        (most_saved, most_held) = (most_saved.max(saved), most_held.max(held));
                        println!(
                            "{learner:?} {anchor:?} {optimizer:?} {fisher:?} {normalisation:?}: \
                             {:.2} saved, {:.2} held",
                            saved as f64 / weights as f64,
                            held as f64 / weights as f64
                        );
                    }
                }
            }
        }
    }
    // The bound is no idle one.
    let weights = of(Learner::Vcl).architecture(64, 10).weights();
    assert!(most_saved >= 5 * weights && most_held >= 7 * weights);
}
