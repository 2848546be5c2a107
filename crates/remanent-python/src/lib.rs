//! `remanent._core`: the extension module of the Python package.
//!
//! It converts arguments and results, and computes without the interpreter. What is computed, checked and
//! reported is in `remanent-lab` and the crates below it, so that Python and the command line give the same
//! numbers and the same messages. The functions here are not for users: the package `remanent` wraps them.

mod compute;
mod convert;
mod data;
mod experiment;
mod fault;
mod found;
mod learner;
mod model;
mod options;
mod scale;
mod theory;

use std::ffi::OsString;
use std::panic;

use pyo3::prelude::*;

/// Runs the command line, and gives the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // The message of a panic is on standard error; 101 is the code of Rust programs for it.
    py.detach(|| panic::catch_unwind(|| remanent::main_with(arguments)).unwrap_or(101))
}

/// The module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::compute::{set_threads, threads};
    #[pymodule_export]
    use super::data::load_data;
    #[pymodule_export]
    use super::experiment::{Experiment, OpenRun};
    #[pymodule_export]
    use super::found::load_run;
    #[pymodule_export]
    use super::learner::Learner;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::options::{numbers, options};
    #[pymodule_export]
    use super::scale::{moments, scale};
    #[pymodule_export]
    use super::theory::ask;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
