use std::fs;
use std::sync::Arc;

use super::*;
use crate::dataset::View;
use crate::idx;
use crate::sources::Cache;

fn stream(text: &str) -> TaskStream {
    StreamSpec::read(text).unwrap().load(&Cache::at("nowhere")).unwrap()
}

fn message(text: &str) -> String {
    StreamSpec::read(text).unwrap_err().to_string()
}

#[test]
fn permutations_are_permutations_and_all_different() {
    let tasks = stream("permuted:digits:5").tasks(1, 0);
    let orders: Vec<&[u32]> = tasks.iter().map(|task| task.permutation().unwrap()).collect();
    let identity: Vec<u32> = (0..64).collect();
    for (i, order) in orders.iter().enumerate() {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, identity);
        // The first task is permuted as well.
        assert_ne!(*order, identity);
        assert!(!orders[..i].contains(order));
    }
}

#[test]
fn a_permutation_depends_on_seed_trial_and_task_only() {
    let short = stream("permuted:digits:2").tasks(7, 3);
    let long = stream("permuted:digits:6").tasks(7, 3);
    for (a, b) in short.iter().zip(&long) {
        assert_eq!(a.permutation(), b.permutation());
    }
    let first = |seed, trial| stream("permuted:digits:1").tasks(seed, trial)[0].clone();
    let same = first(7, 3);
    assert_eq!(same.permutation(), long[0].permutation());
    for other in [first(8, 3), first(7, 4)] {
        assert_ne!(same.permutation(), other.permutation());
    }
}

/// Records of experiments rest on this. The values are those of an independent program.
#[test]
fn the_permutation_of_a_seed_does_not_change() {
    assert_eq!(permutation(8, 1, 0, 0)[..], [6, 2, 1, 4, 5, 3, 0, 7]);
}

#[test]
fn a_permuted_image_has_the_pixels_of_the_image() {
    let task = &stream("permuted:digits:1").tasks(1, 0)[0];
    let (mut plain, mut permuted) = ([0.0; 64], [0.0; 64]);
    task.dataset().test().image(5, &mut plain);
    task.test().image(5, &mut permuted);
    let order = task.permutation().unwrap();
    assert!((0..64).all(|j| permuted[j] == plain[order[j] as usize]));
    assert_eq!(task.test().label(5), task.dataset().test().label(5));
}

#[test]
fn a_task_is_the_same_alone_and_among_all() {
    for text in ["permuted:digits:3", "split:digits:2", "rotated:digits:4", "drift:digits:3:4"] {
        let stream = stream(text);
        let (mut a, mut b) = ([0.0; 64], [0.0; 64]);
        for (index, task) in stream.tasks(5, 2).iter().enumerate() {
            let alone = stream.task(index, 5, 2);
            task.train().image(7, &mut a);
            alone.train().image(7, &mut b);
            assert_eq!((a, task.name()), (b, alone.name()), "{text}");
            let counts = stream.counts(index);
            let found = (task.classes().len(), task.train().len(), task.test().len());
            assert_eq!((counts.classes, counts.train, counts.test), found);
        }
    }
}

/// From one permutation to the next, image by image, and never back.
#[test]
fn a_drift_changes_over_evenly() {
    let tasks = stream("drift:digits:3:4").tasks(1, 0);
    assert_eq!(tasks.len(), 9);
    let pure = [0, 4, 8].map(|i| tasks[i].permutation().unwrap());
    assert!(pure[0] != pure[1] && pure[1] != pure[2]);
    let plain = tasks[0].dataset().train();
    let image = |view: View<'_>, i| {
        let mut out = [0.0; 64];
        view.image(i, &mut out);
        out
    };
    let changed = |stage: usize| -> Vec<bool> {
        let view = tasks[stage].train();
        (0..view.len())
            .map(|i| {
                let after = image(plain.permuted(pure[1]), i) == image(view, i);
                assert!(after || image(plain.permuted(pure[0]), i) == image(view, i));
                after
            })
            .collect()
    };
    let stages: Vec<Vec<bool>> = (0..=4).map(changed).collect();
    for (stage, changed) in stages.iter().enumerate() {
        let share = changed.iter().filter(|c| **c).count() as f64 / changed.len() as f64;
        assert!((share - stage as f64 / 4.0).abs() < 0.01, "stage {stage}: {share}");
    }
    for pair in stages.windows(2) {
        assert!(pair[0].iter().zip(&pair[1]).all(|(before, after)| !before || *after));
    }
}

#[test]
fn rotated_tasks_begin_upright_and_end_before_the_half_turn() {
    let tasks = stream("rotated:digits:4").tasks(1, 0);
    let names: Vec<String> = tasks.iter().map(Task::name).collect();
    assert_eq!(names[0], "digits turned by 0°");
    assert_eq!(names[3], "digits turned by 135°");
    let (mut upright, mut plain) = ([0.0; 64], [0.0; 64]);
    tasks[0].test().image(3, &mut upright);
    tasks[0].dataset().test().image(3, &mut plain);
    assert_eq!(upright, plain);
    tasks[2].test().image(3, &mut upright);
    assert!((0..64).all(|j| upright[j] == plain[(j % 8) * 8 + 7 - j / 8]));
}

#[test]
fn a_split_has_every_class_and_every_image_once() {
    let stream = stream("split:digits:2");
    let tasks = stream.tasks(1, 0);
    let classes: Vec<u8> = tasks.iter().flat_map(Task::classes).collect();
    assert_eq!(classes, (0..10).collect::<Vec<u8>>());
    assert_eq!(tasks.iter().map(|task| task.train().len()).sum::<usize>(), 1437);
    assert_eq!(tasks.iter().map(|task| task.test().len()).sum::<usize>(), 360);
    for (i, task) in tasks.iter().enumerate() {
        let train = task.train();
        for image in 0..train.len() {
            let label = usize::from(train.label(image));
            assert_eq!(label / 2, i);
            assert_eq!(usize::from(train.label_in_task(image)), label % 2);
        }
    }
}

#[test]
fn a_split_that_does_not_divide_is_refused() {
    let spec = StreamSpec::read("split:digits:3").unwrap();
    let error = spec.load(&Cache::at("nowhere")).unwrap_err().to_string();
    assert!(error.contains("1, 2, 5, 10"), "{error}");
}

#[test]
fn a_file_concatenates_its_lines_and_reads_back_from_its_text() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own");
    for (part, count) in [("train", 3), ("t10k", 2)] {
        let pixels = vec![9; count * 64];
        let images = own.join(format!("{part}-images-idx3-ubyte.gz"));
        idx::write(&images, &[count, 8, 8], &pixels).unwrap();
        let labels: Vec<u8> = (0..count as u8).collect();
        idx::write(&own.join(format!("{part}-labels-idx1-ubyte")), &[count], &labels).unwrap();
    }
    let file = directory.path().join("tasks.txt");
    let lines = "# three kinds\npermuted:digits:2\n\nsequence:own, digits # own\nsplit:digits:5\n";
    fs::write(&file, lines).unwrap();
    let spec = StreamSpec::read(file.to_str().unwrap()).unwrap();
    assert_eq!(StreamSpec::read(&spec.to_string()).unwrap(), spec);
    assert_eq!(spec.datasets(), ["digits", own.to_str().unwrap()]);
    let stream = spec.load(&Cache::at("nowhere")).unwrap();
    assert_eq!((stream.len(), stream.inputs(), stream.classes()), (6, 64, 10));
    let names: Vec<String> = stream.tasks(1, 0).iter().map(Task::name).collect();
    let wanted = [
        "digits permuted",
        "digits permuted",
        "own",
        "digits",
        "digits 0,1,2,3,4",
        "digits 5,6,7,8,9",
    ];
    assert_eq!(names, wanted);
    // All tasks share the images.
    let tasks = stream.tasks(1, 0);
    assert!(Arc::ptr_eq(tasks[0].dataset(), tasks[5].dataset()));

    fs::write(&file, "permuted:digits:2\npermuted:digits:0\n").unwrap();
    let error = message(file.to_str().unwrap());
    assert!(error.contains("tasks.txt, line 2") && error.contains("'0'"), "{error}");
    fs::write(&file, "\n# nothing\n").unwrap();
    assert!(message(file.to_str().unwrap()).contains("names no tasks"));
}

#[test]
fn images_of_different_sizes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for part in ["train", "t10k"] {
        let images = directory.path().join(format!("{part}-images-idx3-ubyte"));
        idx::write(&images, &[2, 1, 3], &[1; 6]).unwrap();
        let labels = directory.path().join(format!("{part}-labels-idx1-ubyte"));
        idx::write(&labels, &[2], &[0, 1]).unwrap();
    }
    let text = format!("sequence:digits,{}", directory.path().display());
    let error = StreamSpec::read(&text).unwrap().load(&Cache::at("nowhere")).unwrap_err();
    assert!(matches!(error, StreamError::Inputs { first_inputs: 64, other_inputs: 3, .. }));
}

#[test]
fn errors_name_what_is_near() {
    assert!(message("permutd:mnist:3").contains("did you mean 'permuted'"));
    assert!(message("permuted:mnits:3").contains("did you mean 'mnist'"));
    assert!(message("sequence:fashion_mnist,mnist").contains("did you mean 'fashion-mnist'"));
    assert!(message("mnist").contains("write 'sequence:mnist'"));
    assert!(message("permuted:mnist").contains("permuted:DATASET:TASKS"));
    assert!(message("drift:mnist:5").contains("drift:DATASET:PERMUTATIONS:STAGES"));
    assert!(message("drift:mnist:5:0").contains("the number of stages"));
    assert!(message("rotatd:mnist:5").contains("did you mean 'rotated'"));
    assert!(message("permuted:mnist:many").contains("between 1 and 10000"));
    assert!(message("sequence:mnist,,digits").contains("sequence:DATASET"));
    assert!(message("nowhere.txt").contains("is not a task stream"));
}
