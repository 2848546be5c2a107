#![doc = include_str!("../README.md")]

pub mod npz;
pub mod protobuf;
