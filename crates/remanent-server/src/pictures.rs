//! Images to ask a network about: test images of a dataset, and noise.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::Response;
use remanent_data::images::Images;
use remanent_data::sources::{self, Cache};
use remanent_math::philox::Stream;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::error::{ApiError, json_answer};
use crate::server::Explorer;

/// Numbers of noise that no other part of the program draws.
const NOISE: u32 = 0x6e6f_6973;

/// An image that a network can be asked about.
pub struct Picture {
    pub pixels: Vec<f32>,
    pub label: Option<u8>,
    /// How many images there are to choose from.
    pub count: usize,
}

/// Datasets with test images of so many pixels that are on this machine.
pub fn available(cache: Option<&Cache>, inputs: usize) -> Vec<&'static str> {
    let is_there = |name: &&str| match (*name, inputs) {
        ("digits", 64) => true,
        (name, 784) => cache.is_some_and(|cache| {
            let known = sources::known(name).ok();
            known
                .and_then(|known| sources::locate(known, cache))
                .is_some_and(|found| found.is_whole())
        }),
        _ => false,
    };
    sources::names().into_iter().filter(is_there).collect()
}

/// Uniform noise.
pub fn noise(inputs: usize, seed: u32) -> Vec<f32> {
    let stream = Stream::new(u64::from(seed), NOISE, 0, 0);
    (0..inputs as u32).map(|pixel| stream.uniform(pixel) as f32).collect()
}

/// A test image.
pub fn test_image(images: &Images, index: usize) -> Result<Picture, ApiError> {
    let view = images.view();
    if index >= view.len() {
        let most = view.len() - 1;
        return Err(ApiError::out_of_bounds(format!("index must be between 0 and {most}")));
    }
    let mut pixels = vec![0.0; images.inputs()];
    view.image(index, &mut pixels);
    let label = images.is_labelled().then(|| view.label(index));
    Ok(Picture { pixels, label, count: view.len() })
}

/// `GET /api/image?source=mnist&index=0` or `?source=noise&index=0&inputs=784`.
pub async fn image(
    State(explorer): State<Arc<Explorer>>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response<Body>, ApiError> {
    let given = |key: &str| pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1.as_str());
    let number = |key: &str, most: u32| -> Result<u32, ApiError> {
        let value = given(key).unwrap_or("0").parse::<u32>().ok();
        let value = value.ok_or_else(|| ApiError::malformed(format!("{key} must be a number")))?;
        let bound = || ApiError::out_of_bounds(format!("{key} must be at most {most}"));
        (value <= most).then_some(value).ok_or_else(bound)
    };
    let index = number("index", 1_000_000)?;
    let source =
        given("source").ok_or_else(|| ApiError::malformed("source is missing"))?.to_owned();
    let picture = if source == "noise" {
        let inputs = number("inputs", 10_000)? as usize;
        Picture { pixels: noise(inputs, index), label: None, count: 1_000_000 }
    } else {
        let reading = spawn_blocking(move || {
            let images = explorer.models.images(&source)?;
            test_image(&images, index as usize)
        });
        reading.await.map_err(|_| ApiError::internal("the image cannot be read"))??
    };
    json_answer(&json!({"pixels": picture.pixels, "label": picture.label, "count": picture.count}))
}
