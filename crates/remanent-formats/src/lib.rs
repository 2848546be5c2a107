#![doc = include_str!("../README.md")]

// The zip crate compresses with flate2 and leaves the choice of its backend to us: the one in Rust.
use flate2 as _;

pub mod npz;
pub mod protobuf;
