//! Probabilities summed over binary networks drawn from a distribution.

use remanent_data::dataset::View;
use remanent_math::elementary32::exp_of_negative;
use remanent_math::multiversioned;
use remanent_math::philox::Stream;

use super::Probabilities;
use crate::binary::ensemble::{Ensemble, Member, Tile, Workspace};
use crate::network::Network;

/// Images that are prepared together, for all networks in memory.
const TOGETHER: usize = 1024;
/// The most memory for networks, in bytes, if more than one is needed.
const MEMORY: usize = 64 << 20;
/// A view with fewer images is predicted with its pixels as they are: an order of its own would cost
/// more than it saves.
const FEW_IMAGES: usize = 512;

/// Adds the probabilities of `draws` networks.
pub(super) fn add_all(
    network: &Network,
    views: &[View<'_>],
    draws: usize,
    stream: &impl Fn(u32) -> Stream,
    out: &mut [Probabilities],
) {
    let ensemble = Ensemble::new(network);
    let inputs = network.architecture().inputs();
    let (orders, of_view) = orders(&ensemble, views, inputs);
    let together = (MEMORY / ensemble.size(orders.len()).max(1)).max(1);
    let mut workspace = Workspace::default();
    for first in (0..draws).step_by(together) {
        let draws = first..draws.min(first + together);
        let members: Vec<Member> =
            draws.map(|draw| ensemble.draw(&stream(u32::MAX - draw as u32), &orders)).collect();
        for ((view, &order), out) in views.iter().zip(&of_view).zip(&mut *out) {
            let batches = out.values.chunks_mut(TOGETHER * out.classes);
            for (start, values) in (0..view.len()).step_by(TOGETHER).zip(batches) {
                let images = start..view.len().min(start + TOGETHER);
                let tiles = tiles(&ensemble, view, images, &orders[order]);
                for member in &members {
                    let values = values.chunks_mut(ensemble.images() * out.classes);
                    for (tile, values) in tiles.iter().zip(values) {
                        let logits = ensemble.logits(member, order, tile, &mut workspace);
                        for (logits, values) in logits.iter().zip(values.chunks_mut(out.classes)) {
                            add_softmax(logits, values);
                        }
                    }
                }
            }
        }
    }
}

/// Orders of pixels, and the number of that of each view.
fn orders(ensemble: &Ensemble, views: &[View<'_>], inputs: usize) -> (Vec<Vec<u32>>, Vec<usize>) {
    let mut orders: Vec<Vec<u32>> = Vec::new();
    let mut of_view = Vec::with_capacity(views.len());
    for view in views {
        let order = if view.len() < FEW_IMAGES || !ensemble.leaves_out_zeros() {
            (0..inputs as u32).collect()
        } else {
            by_use(view)
        };
        let known = orders.iter().position(|known| *known == order);
        of_view.push(known.unwrap_or(orders.len()));
        if known.is_none() {
            orders.push(order);
        }
    }
    (orders, of_view)
}

/// Pixels that are lit in many images first, so that most groups of rarely lit pixels are zero.
fn by_use(view: &View<'_>) -> Vec<u32> {
    let mut uses = vec![0_u32; view.inputs()];
    let mut image = vec![0.0; view.inputs()];
    for index in 0..view.len() {
        view.image(index, &mut image);
        uses.iter_mut().zip(&image).for_each(|(uses, &x)| *uses += u32::from(x != 0.0));
    }
    let mut order: Vec<u32> = (0..view.inputs() as u32).collect();
    order.sort_by_key(|&pixel| std::cmp::Reverse(uses[pixel as usize]));
    order
}

fn tiles(
    ensemble: &Ensemble,
    view: &View<'_>,
    images: std::ops::Range<usize>,
    order: &[u32],
) -> Vec<Tile> {
    let mut pixels = Vec::new();
    let mut tiles = Vec::with_capacity(images.len().div_ceil(ensemble.images()));
    for start in images.clone().step_by(ensemble.images()) {
        let end = images.end.min(start + ensemble.images());
        let chosen: Vec<u32> = (start..end).map(|i| i as u32).collect();
        pixels.resize(chosen.len() * view.inputs(), 0.0);
        view.batch(&chosen, &mut pixels);
        tiles.push(ensemble.tile(&pixels, order));
    }
    tiles
}

multiversioned! {
    /// Adds the softmax of the logits of one image.
    fn add_softmax(logits: &[f32], values: &mut [f32]) {
        let mut largest = f32::NEG_INFINITY;
        for &logit in logits {
            largest = if logit > largest { logit } else { largest };
        }
        let mut total = 0.0;
        for &logit in logits {
            // The product is NaN if the logit is not finite.
            total += exp_of_negative(logit - largest) + logit * 0.0;
        }
        let share = total.recip();
        for (&logit, value) in logits.iter().zip(values) {
            *value += exp_of_negative(logit - largest) * share;
        }
    }
}
