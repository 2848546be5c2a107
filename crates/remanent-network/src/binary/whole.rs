//! The inputs of a layer as whole numbers: h = scale · u + offset.
//!
//! Pixels that are bytes, and the activations of sign and gate, are whole numbers already. Other pixels
//! are rounded to 18 bits: x between its least value (at most 0) and its largest value in the image
//! becomes u = round((x − least)/δ), where δ is the range over 2^18 − 1. The error of each x is at most δ/2,
//! so that of z = N^{-1/2} Σ ±x is at most √N δ/2, and its standard deviation is δ/√12, about 1.1e-6 of the
//! range. The eight lower and ten upper bits are added separately ([`super::subsets`]).

use remanent_math::multiversioned;

use super::subsets::{GROUP, Inputs, TILE, doubled, lower_halves, total};

/// Bits of a rounded number.
const BITS: u32 = 18;
/// How many of them are in the lower part.
pub(super) const LOW_BITS: u32 = 8;
const LOW_MASK: u32 = (1 << LOW_BITS) - 1;
/// The most inputs of a layer: twice the sum of all fits into 32 bits.
pub(super) const MOST_INPUTS: usize = 1 << (30 - BITS);
/// Activations below this are zero.
const NEGLIGIBLE: f32 = 1e-30;

/// An activation with two values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// −1 and 1.
    Sign,
    /// 0 and 1.
    Gate,
}

/// How whole numbers stand for real ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Meaning {
    /// NaN if a number of the image is not finite.
    pub(super) scale: f32,
    pub(super) offset: f32,
    /// Σ u.
    pub(super) total: i32,
    /// Whether u has more than eight bits.
    long: bool,
}

impl Meaning {
    /// Multiples of a unit.
    pub(super) fn of(scale: f32, total: i32) -> Self {
        Self { scale, total, ..Self::default() }
    }
}

/// The inputs of a layer for the images of a tile.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    /// The groups that are not zero in all images.
    used: Vec<u32>,
    low: [Vec<u32>; TILE],
    high: [Vec<u32>; TILE],
    /// The largest sum of the lower and of the upper bits of an image.
    bounds: [u32; 2],
    pub(super) meanings: [Meaning; TILE],
    /// What [`doubled`] keeps, for the groups in use.
    lower_halves: Vec<u32>,
}

impl Whole {
    /// The lower and, if there are any, the upper bits.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u32, Inputs<'_>)> {
        let long = self.meanings.iter().any(|meaning| meaning.long);
        let parts = [(0, &self.low), (LOW_BITS, &self.high)];
        parts.into_iter().take(1 + usize::from(long)).map(|(shift, images)| {
            let bound = self.bounds[usize::from(shift > 0)];
            let images = std::array::from_fn(|i| images[i].as_slice());
            (shift, Inputs { used: &self.used, images, bound })
        })
    }

    /// All groups are in use.
    fn use_all(&mut self, inputs: usize) {
        let groups = inputs.div_ceil(GROUP);
        if self.used.len() == groups {
            return;
        }
        self.used = (0..groups as u32).collect();
        self.lower_halves = lower_halves(groups * GROUP);
        for part in self.low.iter_mut().chain(&mut self.high) {
            part.clear();
            part.resize(groups * GROUP, 0);
        }
    }

    /// The activations of hidden neurons: ±1, or 0 and 1.
    pub(super) fn set_activations(&mut self, h: &[Vec<f32>], step: Step) {
        self.use_all(h[0].len());
        self.bounds = [h[0].len() as u32, 0];
        for (i, h) in h.iter().enumerate() {
            let (low, halves) = (&mut self.low[i], &self.lower_halves);
            // The padding may hold numbers of another layer.
            low[h.len()..].fill(0);
            self.meanings[i] = match step {
                Step::Sign => put_bits(h, halves, low, 2.0, -1.0),
                Step::Gate => put_bits(h, halves, low, 1.0, 0.0),
            };
        }
    }

    /// The numbers of an image: at most `planes` bytes each.
    pub(super) fn numbers(&self, image: usize, out: &mut Vec<u32>) {
        let (low, high) = (&self.low[image], &self.high[image]);
        out.clear();
        if self.meanings[image].long {
            let numbers = low.iter().zip(high);
            out.extend(numbers.map(|(low, high)| low >> 16 | high >> 16 << LOW_BITS));
        } else {
            out.extend(low.iter().map(|low| low >> 16));
        }
    }

    /// Bytes of the numbers of an image.
    pub(super) fn planes(&self, image: usize) -> usize {
        if self.meanings[image].long { BITS.div_ceil(8) as usize } else { 1 }
    }

    /// Leaves out the groups of inputs that are zero in all images.
    pub(super) fn leave_out_zeros(&mut self) {
        self.drop_zeros();
        self.set_bounds();
    }

    /// The pixels of images, input `order[i]` in place i. `standardise` has the mean and the
    /// deviation of pixels.
    pub(super) fn set_pixels(
        &mut self,
        images: [&[f32]; TILE],
        order: &[u32],
        standardise: Option<[f32; 2]>,
    ) {
        let mut pixels = Vec::new();
        self.used.clear();
        self.use_all(order.len());
        for (i, image) in images.iter().enumerate() {
            pixels.clear();
            pixels.extend(order.iter().map(|&input| image[input as usize]));
            let (low, high, halves) = (&mut self.low[i], &mut self.high[i], &self.lower_halves);
            let white = [255.0, 16.0].into_iter().find(|&white| are_bytes(&pixels, white));
            self.meanings[i] = match white {
                Some(white) => put_bytes(&pixels, white, halves, low),
                None => {
                    let (least, most) = range(&pixels);
                    round(&pixels, least, most, halves, low, high)
                }
            };
            if let Some([mean, deviation]) = standardise {
                let meaning = &mut self.meanings[i];
                meaning.scale /= deviation;
                meaning.offset = (meaning.offset - mean) / deviation;
            }
        }
        self.set_bounds();
    }

    fn set_bounds(&mut self) {
        let largest = |images: &[Vec<u32>; TILE]| images.iter().map(|i| total(i)).fold(0, u32::max);
        self.bounds = [largest(&self.low), largest(&self.high)];
    }

    fn drop_zeros(&mut self) {
        let any = |part: &[Vec<u32>; TILE], g: usize| {
            part.iter().any(|image| image[g * GROUP..][..GROUP].iter().any(|&u| u > 0))
        };
        let groups = 0..self.used.len();
        let used: Vec<usize> =
            groups.filter(|&g| any(&self.low, g) || any(&self.high, g)).collect();
        for image in self.low.iter_mut().chain(&mut self.high) {
            let mut kept = Vec::with_capacity(used.len() * GROUP);
            used.iter().for_each(|&g| kept.extend_from_slice(&image[g * GROUP..][..GROUP]));
            *image = kept;
        }
        self.used = used.iter().map(|&g| g as u32).collect();
    }
}

/// The least and the largest number, or zero; NaN if one of them is not finite.
fn range(pixels: &[f32]) -> (f32, f32) {
    let least = pixels.iter().fold(0.0_f32, |least, &x| least.min(x));
    let most = pixels.iter().fold(0.0_f32, |most, &x| most.max(x));
    let check: f32 = pixels.iter().map(|x| x * 0.0).sum();
    (least + check, most + check)
}

multiversioned! {
    /// Whether pixels are whole multiples, up to 255, of 1/white.
    fn are_bytes(pixels: &[f32], white: f32) -> bool {
        let mut others = 0;
        for &x in pixels {
            let u = (x * white + 0.5) as i32;
            others |= u32::from(!(0..=255).contains(&u) || u as f32 / white != x);
        }
        others == 0
    }

    fn put_bytes(pixels: &[f32], white: f32, halves: &[u32], low: &mut [u32]) -> Meaning {
        let mut total = 0;
        for ((&x, &half), low) in pixels.iter().zip(halves).zip(low) {
            let u = (x * white + 0.5) as i32;
            total += u;
            *low = doubled(u as u32, half);
        }
        Meaning { scale: white.recip(), offset: 0.0, total, long: false }
    }

    /// Numbers between `least` and `most`, rounded to 18 bits.
    fn round(
        h: &[f32],
        least: f32,
        most: f32,
        halves: &[u32],
        low: &mut [u32],
        high: &mut [u32],
    ) -> Meaning {
        const LAST: f32 = ((1_u32 << BITS) - 1) as f32;
        let range = most - least;
        let per_unit = if range > NEGLIGIBLE { LAST / range } else { 0.0 };
        let mut total = 0;
        for (((&h, &half), low), high) in h.iter().zip(halves).zip(low).zip(high) {
            let u = ((h - least) * per_unit + 0.5) as i32;
            total += u;
            let u = u as u32;
            *low = doubled(u & LOW_MASK, half);
            *high = doubled(u >> LOW_BITS, half);
        }
        Meaning { scale: range / LAST, offset: least, total, long: true }
    }

    /// 1 for positive numbers and 0 for the others, with the scale and the offset given.
    fn put_bits(h: &[f32], halves: &[u32], low: &mut [u32], scale: f32, offset: f32) -> Meaning {
        let (mut total, mut check) = (0, 0.0);
        for ((&h, &half), low) in h.iter().zip(halves).zip(low) {
            let u = u32::from(h > 0.0);
            total += u as i32;
            check += h * 0.0;
            *low = doubled(u, half);
        }
        Meaning { scale: scale + check, offset, total, long: false }
    }
}
