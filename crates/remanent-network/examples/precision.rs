//! Compares the accuracy of networks trained with products in single precision and in bfloat16.
//!
//! `precision --stream permuted:mnist:2 --hidden 512,512 --epochs 1 --images 20000 --seeds 3` trains every seed with both, tests the
//! hard binary network and the stochastic one on all tasks, and prints one line of JSON for each seed and
//! predictor and the mean difference with its standard error. The data are read from the cache of the
//! program (`--cache DIRECTORY` for another one).

use remanent_data::sources::Cache;
use remanent_data::stream::StreamSpec;
use remanent_network::course::{Course, CourseSpec, Event};
use remanent_network::learner::{Learner, Parameters};
use remanent_network::metrics::scores;
use remanent_network::predictor::{Predictor, predict, test_stream};
use remanent_network::product::Precision;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, default: &str| -> String {
        let at = arguments.iter().position(|a| a == name);
        at.and_then(|at| arguments.get(at + 1)).map_or(default, String::as_str).to_owned()
    };
    let number = |name: &str, default: &str| -> usize {
        value(name, default).parse().unwrap_or_else(|_| panic!("{name} must be a number"))
    };
    let hidden = value("--hidden", "512,512");
    let hidden: Vec<usize> = hidden.split(',').map(|x| x.parse().expect("a width")).collect();
    let (seeds, epochs) = (number("--seeds", "3") as u64, [number("--epochs", "1")]);
    let images = number("--images", "20000");
    let cache = match value("--cache", "").as_str() {
        "" => Cache::from_environment().expect("a cache of data"),
        directory => Cache::at(directory),
    };
    let text = value("--stream", "permuted:mnist:2");
    let stream = StreamSpec::read(&text).expect("a stream").load(&cache).expect("its data");

    let mut differences = [Vec::new(), Vec::new()];
    for seed in 0..seeds {
        let tasks = stream.tasks(seed, 0);
        let test: Vec<_> = tasks.iter().map(|task| task.test()).collect();
        let accuracies = [Precision::F32, Precision::Bf16].map(|precision| {
            let first = |view: remanent_data::dataset::View<'_>| view.len().min(images);
            let train: Vec<_> = tasks
                .iter()
                .map(|task| task.train().first(first(task.train())).expect("enough images"))
                .collect();
            let parameters =
                Parameters { hidden: hidden.clone(), precision, ..Parameters::of(Learner::Vcl) };
            let mut course = Course::new(CourseSpec {
                parameters: &parameters,
                tasks: Box::new(train),
                inputs: stream.inputs(),
                epochs: &epochs,
                classes: stream.classes(),
                seed,
                trial: 0,
            })
            .expect("a course");
            while course.advance().expect("finite") != Event::End {}
            [Predictor::Hard, Predictor::Stochastic].map(|predictor| {
                let noise = test_stream(seed, 0, 6);
                let answers = predict(course.network(), &test, predictor, 1, noise);
                let of = |t: usize| scores(&answers[t], &test[t]).accuracy;
                (0..test.len()).map(of).sum::<f64>() / test.len() as f64
            })
        });
        for (p, name) in ["hard", "stochastic"].into_iter().enumerate() {
            let (single, reduced) = (accuracies[0][p], accuracies[1][p]);
            println!(
                "{{\"seed\": {seed}, \"predictor\": \"{name}\", \"f32\": {single:.4}, \"bf16\": {reduced:.4}}}"
            );
            differences[p].push(reduced - single);
        }
    }
    for (differences, name) in differences.iter().zip(["hard", "stochastic"]) {
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let square = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
        let error = (square / (n - 1.0) / n).sqrt();
        println!(
            "{{\"predictor\": \"{name}\", \"seeds\": {n}, \"bf16_minus_f32\": {mean:.5}, \
             \"standard_error\": {error:.5}, \"instructions\": \"{}\"}}",
            Precision::Bf16.instructions()
        );
    }
}
