//! Stores in a database, which `--store` names by a URL.

use std::path::Path;

use inmost::{Credential, Session, StoreError, Vault, VaultOptions};

use crate::exit::Failure;

/// The URL, if the place of a store is one.
pub(crate) fn url(place: &Path) -> Option<&str> {
    place.to_str().filter(|place| VaultOptions::is_url(place))
}

/// Opens a store at a URL or in a folder.
pub(super) fn open(options: &VaultOptions, place: &Path) -> Result<Vault, StoreError> {
    match url(place) {
        Some(url) => options.open_url(url),
        None => options.open(place),
    }
}

/// Creates a store at a URL or in a folder.
pub(super) fn create(
    options: &VaultOptions,
    place: &Path,
    credential: Credential<'_>,
) -> Result<Session, StoreError> {
    match url(place) {
        Some(url) => options.create_url(url, credential),
        None => options.create_with(place, credential),
    }
}

/// Checks a URL before anything repeats it or connects.
#[cfg(not(feature = "postgres"))]
pub(crate) fn check(_url: &str) -> Result<(), Failure> {
    Err(Failure::new(
        crate::exit::Exit::UnknownFormat,
        "This build of inmost cannot use a store in a PostgreSQL database.",
        "Use a build with the feature `postgres`: `cargo install --locked --path cli --features postgres`.",
    ))
}

/// Checks a URL before anything repeats it or connects.
#[cfg(feature = "postgres")]
pub(crate) fn check(url: &str) -> Result<(), Failure> {
    let url = parse(url)?;
    if url.vault.is_none() {
        let id = inmost::Postgres::new_id()?;
        return Err(Failure::usage(
            "The URL of the store names no vault.",
            format!("Add ?vault= and its id. For a new vault, this random id will do: {id}"),
        ));
    }
    Ok(())
}

#[cfg(feature = "postgres")]
fn parse(url: &str) -> Result<inmost::PostgresUrl, Failure> {
    inmost::PostgresUrl::parse(url).map_err(|error| {
        Failure::usage(
            format!("The URL of the store cannot be used: {error}."),
            "It has the form postgres://USER@HOST/DATABASE?vault=ID.",
        )
    })
}

/// The database that a URL names, for what needs no vault.
#[cfg(feature = "postgres")]
pub(crate) fn database(url: &str) -> Result<(inmost::Postgres, Option<inmost::VaultId>), Failure> {
    let url = parse(url)?;
    let config = inmost::PostgresConfig::new(&url).password_from_environment();
    let config = config.map_err(|error| {
        Failure::usage(
            format!("The password of the database is not available: {error}."),
            "Correct that, or set PGPASSFILE to another file.",
        )
    })?;
    Ok((inmost::Postgres::new(config)?, url.vault))
}
