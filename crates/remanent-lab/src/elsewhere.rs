//! Cells that other processes compute: the workers of a pool, of a cluster, or of MPI.
//!
//! A worker is given the layers of the configuration and the number of a cell. It prepares the same
//! experiment and [computes](Prepared::compute) the cell in a scratch directory. The process that holds the
//! run directory [opens](Prepared::open) it, sends the cells that are [missing](Prepared::survey) to workers,
//! and stores what comes back with [`Prepared::accept`]. [`Prepared::run`] then finds all records.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use remanent_store::{Parcel, ParcelError, Silent, Store};

use crate::experiment::{Error, Experiment, Prepared};

impl<E: Experiment> Prepared<E> {
    /// Opens the run directory to store cells that are computed elsewhere.
    pub fn open(&self, directory: &Path, fresh: bool) -> Result<Store, Error> {
        Ok(Store::open(directory, E::NAME, &self.config(), fresh)?)
    }

    /// Computes one cell in a directory of its own, and gives what it leaves.
    pub fn compute(
        &self,
        number: usize,
        scratch: &Path,
        interrupt: &AtomicBool,
    ) -> Result<Parcel, Error> {
        let mut cells = self.cells();
        let count = cells.len();
        if number >= count {
            return Err(Error::Other(format!("there is no cell {number}: the run has {count}")));
        }
        let cell = cells.swap_remove(number);
        let store = self.open(scratch, false)?;
        store.run(std::slice::from_ref(&cell), &Silent, interrupt)?;
        store.pack(&cell).map_err(failed)
    }

    /// Stores what a cell has left elsewhere.
    pub fn accept(&self, number: usize, parcel: &Parcel, store: &Store) -> Result<(), Error> {
        let cells = self.cells();
        let cell =
            cells.get(number).ok_or_else(|| Error::Other(format!("there is no cell {number}")))?;
        store.unpack(cell, parcel).map_err(failed)
    }
}

fn failed(error: ParcelError) -> Error {
    match error {
        ParcelError::File(error) => error.into(),
        error => Error::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Report, Resources, RunOptions};
    use crate::options::Options;
    use crate::plan::Layers;
    use crate::simulation::{Simulation, SimulationView};

    #[test]
    fn cells_computed_elsewhere_are_those_computed_here() {
        let file = "alpha = [1, 1]\nn = 40\nepochs = 3\nseeds = 2".parse().unwrap();
        let layers = Layers { file, ..Layers::default() };
        let prepared = Prepared::<Simulation>::new(layers, &Resources::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let never = AtomicBool::new(false);
        let view = SimulationView::read(&toml::Table::new()).unwrap();

        let store = prepared.open(&at("gathered"), false).unwrap();
        let parcels =
            [0, 1].map(|i| prepared.compute(i, &at(&format!("worker-{i}")), &never).unwrap());
        assert!(prepared.accept(0, &parcels[1], &store).is_err());
        for (i, parcel) in parcels.iter().enumerate() {
            prepared.accept(i, parcel, &store).unwrap();
        }
        drop(store);
        let cells = prepared.cells();
        assert!(prepared.survey(&cells, &at("gathered"), false).unwrap().missing.is_empty());
        let json = |name: &str| {
            let options = RunOptions::in_directory(at(name));
            prepared.run(&options, &view).unwrap().json()["rows"].to_string()
        };
        assert_eq!(json("gathered"), json("here"));
        assert!(prepared.compute(2, &at("none"), &never).is_err());
    }
}
