//! Errors of the libraries as exceptions of Python, with the same words.

use std::any::Any;
use std::io;

use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use remanent_data::sources::SourceError;
use remanent_data::stream::StreamError;
use remanent_lab::config::ConfigError;
use remanent_lab::experiment::{Error, ErrorKind};
use remanent_lab::options::Range;
use remanent_lab::plan::PlanError;
use remanent_lab::theory::QueryError;
use remanent_lab::training::{MaterialError, TrainingError};
use remanent_lab::values::ValueError;
use remanent_store::files::FileError;
use remanent_store::{RunError, StoreError};

/// Why there is no result: the exception, and what it says.
#[derive(Debug)]
pub struct Fault {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An argument with an invalid value.
    Value,
    /// An argument that does not exist.
    Type,
    /// Data or files that are not there.
    Missing,
    /// The operating system refused.
    System,
    /// Too large for this machine.
    Memory,
    Interrupted,
    /// Something else.
    Failure,
}

impl Fault {
    /// An invalid argument.
    pub fn value(text: impl ToString) -> Self {
        Self { kind: Kind::Value, text: text.to_string() }
    }

    /// A file or directory that is not there.
    pub fn missing(text: impl ToString) -> Self {
        Self { kind: Kind::Missing, text: text.to_string() }
    }

    /// Something that could not be computed.
    pub fn failure(text: impl ToString) -> Self {
        Self { kind: Kind::Failure, text: text.to_string() }
    }

    /// Fails unless a number is in its range.
    pub fn unless_in(range: Range, name: &str, value: f64) -> Result<(), Self> {
        range.check(name, value).map(drop).map_err(|error| Self::value(error.to_string()))
    }

    /// It was asked to stop.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, text: "interrupted".into() }
    }

    /// A panic: an error of the library.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        Self::failure(format!("internal error: {text}; please report it"))
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let Fault { kind, text } = fault;
        match kind {
            Kind::Value => PyValueError::new_err(text),
            Kind::Type => PyTypeError::new_err(text),
            Kind::Missing => PyFileNotFoundError::new_err(text),
            Kind::System => PyOSError::new_err(text),
            Kind::Memory => PyMemoryError::new_err(text),
            Kind::Interrupted => PyKeyboardInterrupt::new_err(text),
            Kind::Failure => PyRuntimeError::new_err(text),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { kind: kind(&error), text: error.to_string() }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Self { kind: file_kind(&error), text: error.to_string() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        Error::from(error).into()
    }
}

impl From<ValueError> for Fault {
    fn from(error: ValueError) -> Self {
        Self::value(error)
    }
}

impl From<TrainingError> for Fault {
    fn from(error: TrainingError) -> Self {
        Error::from(error).into()
    }
}

fn kind(error: &Error) -> Kind {
    let unknown = |error: &ConfigError| matches!(error, ConfigError::UnknownKey { .. });
    match error {
        Error::Config(config) | Error::Plan(PlanError::Config(config)) if unknown(config) => {
            Kind::Type
        }
        Error::Query(QueryError::Key(config)) if unknown(config) => Kind::Type,
        Error::Config(ConfigError::File(error)) => file_kind(error),
        Error::Material(
            MaterialError::Source(source)
            | MaterialError::Training(TrainingError::Stream(StreamError::Source(source))),
        )
        | Error::Training(TrainingError::Stream(StreamError::Source(source))) => {
            source_kind(source)
        }
        Error::Run(RunError::Memory { .. }) => Kind::Memory,
        Error::Run(RunError::File(error) | RunError::Store(StoreError::File(error)))
        | Error::Store(StoreError::File(error))
        | Error::File(error) => file_kind(error),
        error => match error.kind() {
            ErrorKind::Usage => Kind::Value,
            ErrorKind::Interrupted => Kind::Interrupted,
            ErrorKind::Failure => Kind::Failure,
        },
    }
}

fn source_kind(error: &SourceError) -> Kind {
    match error {
        SourceError::Unknown { .. } => Kind::Value,
        SourceError::Absent { .. } => Kind::Missing,
        SourceError::Interrupted { .. } => Kind::Interrupted,
        SourceError::File(error) => file_kind(error),
        _ => Kind::Failure,
    }
}

fn file_kind(error: &FileError) -> Kind {
    match error.cause.kind() {
        io::ErrorKind::NotFound => Kind::Missing,
        _ => Kind::System,
    }
}
