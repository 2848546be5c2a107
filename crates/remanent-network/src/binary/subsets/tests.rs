use remanent_math::philox::Stream;

use super::*;

const SHAPES: [(usize, usize); 10] = [
    (1, 1),
    (5, 16),
    (6, 17),
    (7, 33),
    (15, 128),
    (37, 129),
    (64, 100),
    (257, 130),
    (300, 300),
    (784, 512),
];

/// Uniform in 0 .. `below`.
fn numbers(count: usize, below: u32, purpose: u32) -> Vec<u32> {
    let stream = Stream::new(3, purpose, 0, 0);
    (0..count as u32).map(|i| (stream.uniform(i) * f64::from(below)) as u32).collect()
}

struct Case {
    outputs: usize,
    positive: Vec<u8>,
    order: Vec<u32>,
    /// Image by image, in the order of the layer.
    images: Vec<Vec<u32>>,
}

impl Case {
    /// Inputs below `below`, of which those in the second half are mostly zero.
    fn new(inputs: usize, outputs: usize, below: u32) -> Self {
        let positive: Vec<u8> =
            numbers(inputs * outputs, 2, 0).iter().map(|&bit| bit as u8).collect();
        let mut order: Vec<u32> = (0..inputs as u32).collect();
        Stream::new(4, 0, 0, 0).shuffle(&mut order);
        let image = |i: u32| {
            let mut image = numbers(inputs, below, 1 + i);
            for (u, lit) in image.iter_mut().zip(numbers(inputs, 10, 10)).skip(inputs / 2) {
                *u *= u32::from(lit == 0);
            }
            image
        };
        Self { outputs, positive, order, images: (0..TILE as u32).map(image).collect() }
    }

    /// The definition: Σ over weights +1, output by output.
    fn exact(&self, image: usize) -> Vec<i64> {
        let sum = |j: usize| -> i64 {
            let inputs = self.order.iter().zip(&self.images[image]);
            let plus = inputs.filter(|(i, _)| self.positive[**i as usize * self.outputs + j] == 1);
            plus.map(|(_, &u)| i64::from(u)).sum()
        };
        (0..self.outputs).map(sum).collect()
    }

    /// By a kernel, without the groups that are zero in all images.
    fn found(&self, kernel: Kernel, shift: u32) -> Vec<Vec<i64>> {
        let signs = Signs::new(self.outputs, &self.positive, &self.order);
        let padded = signs.groups * GROUP;
        let halves = lower_halves(padded);
        let images: Vec<Vec<u32>> = self
            .images
            .iter()
            .map(|image| {
                let mut image = image.clone();
                image.resize(padded, 0);
                image.iter().zip(&halves).map(|(&u, &half)| doubled(u, half)).collect()
            })
            .collect();
        let group = |image: &Vec<u32>, g: u32| image[g as usize * GROUP..][..GROUP].to_vec();
        let used: Vec<u32> = (0..signs.groups as u32)
            .filter(|&g| images.iter().any(|image| group(image, g).iter().any(|&u| u > 0)))
            .collect();
        let images: Vec<Vec<u32>> = images
            .iter()
            .map(|image| used.iter().flat_map(|&g| group(image, g)).collect())
            .collect();
        let bound = images.iter().map(|image| total(image)).max().unwrap();
        let images = std::array::from_fn(|i| images[i].as_slice());
        let inputs = Inputs { used: &used, images, bound };
        // Sums are added to what is there.
        let mut sums = vec![[[[7; 16]; 8]; TILE]; signs.blocks()];
        add_in_parts(kernel, &signs, inputs, shift, &mut Tables::default(), &mut sums);
        let of = |image: usize| {
            let all = sums.iter().flat_map(|block| block[image].as_flattened());
            all.take(self.outputs).map(|&sum| i64::from(sum) - 7).collect()
        };
        (0..TILE).map(of).collect()
    }
}

fn plain(s: &Signs, i: Inputs<'_>, shift: u32, t: &mut Tables, sums: &mut [Sums]) {
    plain_part(s, i, shift, t, sums);
}

/// Uses AVX2 even if AVX-512 is available.
#[multiversion(targets("x86_64+avx2"))]
fn narrow(s: &Signs, i: Inputs<'_>, shift: u32, t: &mut Tables, sums: &mut [Sums]) {
    plain_part(s, i, shift, t, sums);
}

const KERNELS: [(Kernel, &str); 3] =
    [(add_part, "dispatched"), (narrow, "narrow"), (plain, "plain")];

#[test]
fn every_kernel_gives_the_sums_of_the_definition() {
    for (inputs, outputs) in SHAPES {
        for below in [2, 256, LARGEST + 1] {
            let case = Case::new(inputs, outputs, below);
            for (kernel, name) in KERNELS {
                for shift in [0, 8] {
                    for (image, found) in case.found(kernel, shift).iter().enumerate() {
                        let exact: Vec<i64> =
                            case.exact(image).iter().map(|s| s << shift).collect();
                        assert_eq!(*found, exact, "{name} {inputs} {outputs} {below}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_brightest_images_do_not_overflow() {
    for inputs in [258, 1000, 4096] {
        let outputs = 20;
        let images = vec![vec![LARGEST; inputs]; TILE];
        let order = (0..inputs as u32).collect();
        let case = Case { outputs, positive: vec![1; inputs * outputs], order, images };
        for (kernel, _) in KERNELS {
            for found in case.found(kernel, 8) {
                assert_eq!(found, vec![i64::from(LARGEST) * inputs as i64 * 256; outputs]);
            }
        }
    }
}

#[test]
fn totals_are_the_sums_of_the_weights() {
    let case = Case::new(37, 50, 2);
    let signs = Signs::new(case.outputs, &case.positive, &case.order);
    for (j, &total) in signs.totals().iter().enumerate() {
        let weights = (0..37).map(|i| 2 * i32::from(case.positive[i * 50 + j]) - 1);
        assert_eq!(total, weights.sum::<i32>());
    }
}
