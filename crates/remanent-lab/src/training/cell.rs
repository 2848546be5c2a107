//! One trial: the piece of a training that is computed alone.

use std::collections::BTreeMap;
use std::path::Path;

use cpu_time::ThreadTime;
use remanent_data::dataset::View;
use remanent_data::stream::Task;
use remanent_network::course::{Course, CourseSpec, Event, Examples, Tasks};
use remanent_network::learner::Learner;
use remanent_network::metrics;
use remanent_network::model;
use remanent_network::network::Weights;
use remanent_network::predictor::{Predictor, predict, test_stream};
use remanent_network::tensors::Tensors;
use remanent_network::trainer::Diverged;
use remanent_store::{Cell, Context, ModelFault, Stopped};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::training::config::Training;
use crate::training::evaluation::Evaluate;
use crate::training::found::check_model;
use crate::training::history::{EpochRow, PhaseEnd, Signs, TrialRecord, divergence};
use crate::training::material::Material;

/// The kind of a file of arrays.
const CHECKPOINT: &str = "checkpoint";

/// A trial of a training.
pub struct Trial<'a> {
    /// The case.
    pub training: &'a Training,
    /// Its images.
    pub material: &'a Material,
    /// The seed of all trials.
    pub seed: u64,
    /// The number of the trial, from 0.
    pub trial: u32,
}

/// What a checkpoint holds besides the arrays.
#[derive(Serialize, Deserialize)]
struct State {
    course: Value,
    record: TrialRecord,
    /// Signs of the weights when the epoch under way began.
    signs: Vec<String>,
}

impl Trial<'_> {
    /// Steps of the whole trial.
    pub fn steps(&self) -> u64 {
        let epochs = &self.training.epochs;
        let parameters = &self.training.parameters;
        let images = |task| self.training.train_count(self.material.counts(task));
        let counts: Vec<usize> = (0..self.material.task_count()).map(images).collect();
        if parameters.learner == Learner::Joint {
            return (parameters.batches(counts.iter().sum()) * epochs[0]) as u64;
        }
        let of = |(t, count): (usize, &usize)| {
            (parameters.batches(*count) * epochs[t.min(epochs.len() - 1)]) as u64
        };
        counts.iter().enumerate().map(of).sum()
    }
}

impl Cell for Trial<'_> {
    type Record = TrialRecord;

    fn key(&self) -> Value {
        json!({
            "training": self.training.key(),
            "data": self.material.fingerprint(),
            "seed": self.seed,
            "trial": self.trial,
        })
    }

    fn work(&self) -> u64 {
        self.steps()
    }

    /// The images, seven numbers a weight (nine if weights are sampled), and those of a batch.
    fn memory(&self) -> u64 {
        let parameters = &self.training.parameters;
        let inputs = self.material.inputs();
        let architecture = parameters.architecture(inputs, self.material.classes());
        let (inputs, weights) = (inputs as u64, architecture.weights() as u64);
        let neurons: u64 = architecture.widths.iter().map(|&width| width as u64).sum();
        let counts = (0..self.material.task_count()).map(|task| self.material.counts(task));
        let images = counts.map(|counts| (counts.train + counts.test) as u64).max();
        let each = if parameters.samples_weights() { 36 } else { 28 };
        each * weights + 32 * parameters.batch as u64 * neurons + inputs * images.unwrap_or(0)
    }

    fn check_model(&self, path: &Path) -> Result<(), ModelFault> {
        check_model(path, &self.key())
    }

    fn run(&self, context: &mut Context<'_>) -> Result<TrialRecord, Stopped> {
        let mut run = Run::begin(self, context)?;
        context.advance(run.course.trainer().steps());
        run.complete(context)?;
        if let Some(path) = context.model() {
            model::write(path, run.course.network(), &self.key())?;
        }
        Ok(run.record)
    }
}

/// The training images of the tasks of a trial.
struct TrainingTasks<'a>(&'a Trial<'a>);

/// The training images of one task.
struct TrainingImages<'a> {
    training: &'a Training,
    task: Task,
}

impl<'a> Tasks<'a> for TrainingTasks<'a> {
    fn count(&self) -> usize {
        self.0.material.task_count()
    }

    fn examples(&self, task: usize) -> usize {
        self.0.training.train_count(self.0.material.counts(task))
    }

    fn open(&self, task: usize) -> Box<dyn Examples + 'a> {
        let Trial { training, material, seed, trial } = *self.0;
        Box::new(TrainingImages { training, task: material.task(task, seed, trial) })
    }
}

impl Examples for TrainingImages<'_> {
    fn view(&self) -> View<'_> {
        self.training.train_view(&self.task).expect("the material was checked")
    }
}

/// A trial under way.
struct Run<'a> {
    trial: &'a Trial<'a>,
    course: Course<'a>,
    record: TrialRecord,
    signs: Signs,
}

impl<'a> Run<'a> {
    /// From the checkpoint, or from the beginning.
    fn begin(trial: &'a Trial<'a>, context: &mut Context<'_>) -> Result<Self, Stopped> {
        let Trial { training, material, seed, trial: number } = trial;
        let start = || {
            Course::new(CourseSpec {
                parameters: &training.parameters,
                tasks: Box::new(TrainingTasks(trial)),
                inputs: material.inputs(),
                epochs: &training.epochs,
                classes: material.classes(),
                seed: *seed,
                trial: *number,
            })
        };
        let mut course = start().map_err(Stopped::failed)?;
        if let Some((state, arrays)) =
            context.load_arrays(|bytes| Tensors::decode(bytes, CHECKPOINT))
        {
            let state = State::deserialize(state).map_err(|error| error.to_string());
            let restored = state.and_then(|state| {
                let signs = Signs::from_hex(&state.signs).ok_or("its signs cannot be read")?;
                course.restore(&state.course, arrays).map_err(|error| error.to_string())?;
                Ok((state.record, signs))
            });
            match restored {
                Ok((record, signs)) => return Ok(Self { trial, course, record, signs }),
                Err(reason) => {
                    context.refuse(&reason);
                    course = start().map_err(Stopped::failed)?;
                }
            }
        }
        let signs = Signs::of(course.network());
        let instructions = trial.training.parameters.precision.instructions();
        let record = TrialRecord { instructions, ..Default::default() };
        Ok(Self { trial, course, record, signs })
    }

    fn complete(&mut self, context: &mut Context<'_>) -> Result<(), Stopped> {
        if self.record.initial.scores.is_empty() && !context.is_probe() {
            let beta = self.trial.training.parameters.beta.at(0, 0, self.course.epochs()) as f32;
            self.course.set_beta(beta);
            let tasks = match self.trial.training.evaluate {
                evaluate if evaluate.is_sparse() => vec![0],
                _ => (0..self.trial.material.task_count()).collect(),
            };
            self.record.initial = self.measure(0, tasks, context)?;
        }
        loop {
            self.catch_up(context)?;
            let before = self.before_last_step();
            let started = ThreadTime::now();
            let event = self.course.advance().map_err(|error| self.report(&error, context))?;
            context.add_step_seconds(started.elapsed().as_secs_f64());
            match event {
                Event::End => return Ok(()),
                Event::Step => (),
                Event::Epoch | Event::Phase => self.end_epoch(before.as_deref()),
            }
            context.advance(1);
            self.record.steps = self.course.trainer().steps();
            // In a long stream the record is longer than the state, and tasks may take less than a second.
            let at_ends = !self.trial.training.evaluate.is_sparse();
            if (event == Event::Phase && at_ends) || context.due() {
                self.save(context)?;
            }
        }
    }

    /// θ before the step, if that is the last of an epoch.
    fn before_last_step(&self) -> Option<Vec<Vec<f32>>> {
        let network = self.course.network();
        let wanted = self.course.is_at_last_step() && network.weights() == Weights::Field;
        wanted.then(|| network.layers().iter().map(|layer| layer.theta().to_vec()).collect())
    }

    fn report(&self, error: &Diverged, context: &Context<'_>) -> Stopped {
        let saved = match context.last_arrays() {
            Some(path) => format!("the last good checkpoint is {}", path.display()),
            None => "there is no checkpoint yet".into(),
        };
        let trial = self.trial.trial;
        Stopped::Failed(format!("trial {trial}: {error}; {saved}"))
    }

    /// Adds the row of an epoch, still without accuracies.
    fn end_epoch(&mut self, before: Option<&[Vec<f32>]>) {
        let network = self.course.network();
        let signs = Signs::of(network);
        let (sum, count) = self.course.epoch_loss();
        let (divergence, divergence_by_variance) =
            before.map_or((0.0, Vec::new()), |before| divergence(network, before));
        self.record.epochs.push(EpochRow {
            epoch: self.course.epochs_done(),
            task: self.course.position().phase + 1,
            beta: f64::from(network.beta()),
            loss: sum / count as f64,
            output_scale: f64::from(network.log_scale().exp()),
            uncertainty: network.uncertainty(),
            flip_ratio: signs.differences(&self.signs, network),
            divergence,
            divergence_by_variance,
            accuracy: BTreeMap::new(),
        });
        self.signs = signs;
    }

    /// Measures what was not measured when the epoch ended: now, or before an interruption.
    fn catch_up(&mut self, context: &mut Context<'_>) -> Result<(), Stopped> {
        let Some(row) = self.record.epochs.last() else { return Ok(()) };
        let (epoch, phase) = (row.epoch, row.task - 1);
        let ended = self.course.position().phase == phase && self.course.is_at_end_of_phase();
        let evaluate = self.trial.training.evaluate;
        if ended && self.record.ends.len() == phase {
            let tasks = evaluate.tasks_after(phase, self.trial.material.task_count());
            let end = self.measure(epoch, tasks, context)?;
            if evaluate.is_sparse() {
                self.record.ends.push(end);
                return Ok(());
            }
            let seen = self.seen(phase);
            let accuracy = |scores: &Vec<metrics::Scores>| {
                scores[..seen].iter().map(|score| score.accuracy).collect()
            };
            let accuracies = end.scores.iter().map(|(p, s)| (*p, accuracy(s))).collect();
            if let Some(row) = self.record.epochs.last_mut() {
                row.accuracy = accuracies;
            }
            self.record.ends.push(end);
        } else if row.accuracy.is_empty() && !ended && evaluate == Evaluate::Epoch {
            let mut accuracies = BTreeMap::new();
            let tasks = self.open(0..self.seen(phase));
            let views = self.test_views(&tasks)?;
            for &predictor in &self.trial.training.predictors {
                self.pause(context)?;
                let accuracy = |s: metrics::Scores| s.accuracy;
                let scores = self.scores(predictor, &views, epoch);
                accuracies.insert(predictor, scores.into_iter().map(accuracy).collect());
            }
            if let Some(row) = self.record.epochs.last_mut() {
                row.accuracy = accuracies;
            }
        }
        Ok(())
    }

    /// Number of tasks that have been learned, or are being learned.
    fn seen(&self, phase: usize) -> usize {
        if self.course.phases() == 1 { self.trial.material.task_count() } else { phase + 1 }
    }

    /// Tasks with their permutations.
    fn open(&self, tasks: impl IntoIterator<Item = usize>) -> Vec<Task> {
        let Trial { material, seed, trial, .. } = *self.trial;
        tasks.into_iter().map(|task| material.task(task, seed, trial)).collect()
    }

    fn test_views<'t>(&self, tasks: &'t [Task]) -> Result<Vec<View<'t>>, Stopped> {
        let view = |task| self.trial.training.test_view(task).map_err(Stopped::failed);
        tasks.iter().map(view).collect()
    }

    /// Everything about the network of now, on these tasks.
    fn measure(
        &self,
        epoch: usize,
        tasks: Vec<usize>,
        context: &mut Context<'_>,
    ) -> Result<PhaseEnd, Stopped> {
        let training = self.trial.training;
        let sparse = training.evaluate.is_sparse();
        let mut end = PhaseEnd::default();
        if tasks.is_empty() {
            return Ok(end);
        }
        let opened = self.open(tasks.iter().copied());
        let test = self.test_views(&opened)?;
        let mut views = test.clone();
        views.extend(self.trial.material.ood());
        for &predictor in training.predictors_after_task() {
            self.pause(context)?;
            let answers = self.answers(predictor, &views, epoch);
            let scores = answers.iter().zip(&test);
            let scores = scores.map(|(answers, view)| metrics::scores(answers, view)).collect();
            end.scores.insert(predictor, scores);
            if let [known @ .., unknown] = &answers[..]
                && views.len() > test.len()
            {
                let seen = match epoch {
                    0 => known.len(),
                    _ if sparse => known.len(),
                    _ => self.seen(self.course.position().phase),
                };
                let inside: Vec<f64> =
                    known[..seen].iter().flat_map(|answers| answers.confidences()).collect();
                let area = metrics::auc(&inside, &unknown.confidences());
                end.ood_auc.insert(predictor, area);
            }
        }
        if sparse {
            end.tasks = tasks;
        }
        Ok(end)
    }

    fn scores(
        &self,
        predictor: Predictor,
        views: &[View<'_>],
        epoch: usize,
    ) -> Vec<metrics::Scores> {
        let answers = self.answers(predictor, views, epoch);
        answers.iter().zip(views).map(|(answers, view)| metrics::scores(answers, view)).collect()
    }

    fn answers(
        &self,
        predictor: Predictor,
        views: &[View<'_>],
        epoch: usize,
    ) -> Vec<remanent_network::predictor::Probabilities> {
        let network = self.course.network();
        let stream = test_stream(self.trial.seed, self.trial.trial, epoch);
        predict(network, views, predictor, self.trial.training.draws, stream)
    }

    /// Saves and stops if that is asked for.
    fn pause(&self, context: &mut Context<'_>) -> Result<(), Stopped> {
        if context.interrupted() { self.save(context) } else { Ok(()) }
    }

    fn save(&self, context: &mut Context<'_>) -> Result<(), Stopped> {
        let (course, arrays) = self.course.save();
        let state = State { course, record: self.record.clone(), signs: self.signs.to_hex() };
        context.save_arrays(&json!(state), |path, about| arrays.write(path, CHECKPOINT, about))
    }
}
