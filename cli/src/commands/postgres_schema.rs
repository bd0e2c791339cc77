//! `inmost postgres-schema`

use inmost::PostgresSchema;

use crate::exit::Failure;
use crate::output::print;

/// Print the tables that stores in a `PostgreSQL` database need
///
/// The owner of the database loads them once. The role that the programs connect as cannot change them.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    inmost postgres-schema --role inmost_app | psql --set ON_ERROR_STOP=1 memories")]
pub(crate) struct PostgresSchemaCommand {
    /// The role that the programs connect as; it must exist
    #[arg(long, value_name = "NAME", default_value = "inmost_app")]
    role: String,

    /// Divide the records into this many tables, for a database of many vaults; it cannot be changed later
    #[arg(long, value_name = "N", default_value_t = 0)]
    partitions: u32,
}

impl PostgresSchemaCommand {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let schema = PostgresSchema::new(&self.role)
            .and_then(|schema| schema.partitions(self.partitions))
            .map_err(|error| {
                Failure::usage(
                    format!("The tables cannot be made: {error}."),
                    "Give another name or number.",
                )
            })?;
        print(schema.text().as_bytes())
    }
}
