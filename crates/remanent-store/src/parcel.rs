//! Cells that are computed in another process: what such a cell leaves, and how it comes into the store.
//!
//! A cell depends on its key only, so any process that has the configuration can compute it. It does so in a
//! store of its own, [packs](Store::pack) what the cell has left, and sends it to the process that holds the
//! run directory, which [unpacks](Store::unpack) it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::atomic;
use crate::cell::{self, Cell, Entry, ModelFault};
use crate::files::{self, FileError};
use crate::run::Silent;
use crate::sealed;
use crate::store::Store;

/// What a cell has left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// The key of the cell.
    pub key: Value,
    /// Its record.
    pub record: Value,
    /// The file of its model; empty if it leaves none.
    pub model: Vec<u8>,
    /// Processor seconds.
    pub seconds: f64,
    /// The part of these that was spent on steps.
    pub step_seconds: f64,
}

/// Why a parcel cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParcelError {
    /// The cell has not been computed.
    #[error("the cell has no record")]
    NoRecord,
    /// It is the parcel of another cell.
    #[error("the parcel is that of another cell: {0}")]
    OtherCell(Value),
    /// Its content is not a record of this experiment.
    #[error("the record of the parcel cannot be read: {0}")]
    Record(#[from] serde_json::Error),
    /// Its model is not that of the cell.
    #[error(transparent)]
    Model(#[from] ModelFault),
    /// Something could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Store {
    /// What a cell that is done has left here.
    pub fn pack<C: Cell>(&self, cell: &C) -> Result<Parcel, ParcelError> {
        let place = self.place(cell);
        let record: Option<Value> = cell::recall(&place.record, "record", &place.key, &Silent)?;
        let record = record.ok_or(ParcelError::NoRecord)?;
        let model =
            if place.model.exists() { files::read_whole(&place.model)? } else { Vec::new() };
        let time = self.times.get(&place.hash);
        Ok(Parcel {
            record,
            model,
            seconds: time.map_or(0.0, |time| time.seconds),
            step_seconds: time.and_then(|time| time.steps).unwrap_or(0.0),
            key: place.key,
        })
    }

    /// Stores what a cell has left elsewhere, as if it had been computed here. The record is written last:
    /// a cell that has one has its model too.
    pub fn unpack<C: Cell>(&self, cell: &C, parcel: &Parcel) -> Result<(), ParcelError> {
        let place = self.place(cell);
        if parcel.key != place.key {
            return Err(ParcelError::OtherCell(parcel.key.clone()));
        }
        let record: C::Record = serde_json::from_value(parcel.record.clone())?;
        if !parcel.model.is_empty() {
            atomic::write(&place.model, &[&parcel.model])?;
        }
        cell.check_model(&place.model)?;
        sealed::write(&place.record, "record", &Entry { key: &place.key, value: &record })?;
        place.clear()?;
        self.times.append(&place.hash, parcel.seconds, parcel.step_seconds)?;
        Ok(())
    }
}
