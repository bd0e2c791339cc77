//! The tables, as text for their owner to load. The role that uses them has no right to change them.

use std::fmt::Write as _;

use super::statements::functions;

/// What [`Schema::text`] prints: the tables of all vaults of a database, and the rights of the role that uses them.
#[derive(Clone, Debug)]
#[must_use]
pub struct Schema {
    role: String,
    partitions: u32,
}

/// Why a schema cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SchemaError {
    /// The name of the role is empty, longer than 63 bytes, or has a control character.
    #[error("the name of a role has 1 to 63 bytes and no control characters")]
    Role,
    /// The number of partitions is above 1,024.
    #[error("a table has at most 1,024 partitions")]
    Partitions,
}

impl Schema {
    /// The version of the tables that this build uses.
    pub const VERSION: i32 = 2;

    /// Starts with one table for all records, which is right up to some hundred gigabytes.
    ///
    /// # Errors
    /// [`SchemaError::Role`].
    pub fn new(role: &str) -> Result<Self, SchemaError> {
        if role.is_empty() || role.len() > 63 || role.chars().any(char::is_control) {
            return Err(SchemaError::Role);
        }
        Ok(Self { role: role.to_owned(), partitions: 0 })
    }

    /// Divides the records by their vault into this many tables, which can be vacuumed at the same time. It cannot be added
    /// later without copying. 0 is the default.
    ///
    /// # Errors
    /// [`SchemaError::Partitions`].
    pub fn partitions(mut self, partitions: u32) -> Result<Self, SchemaError> {
        if partitions > PARTITIONS {
            return Err(SchemaError::Partitions);
        }
        self.partitions = partitions;
        Ok(self)
    }

    /// Returns the statements, as one transaction. Does no I/O.
    #[must_use]
    pub fn text(&self) -> String {
        let role = format!("\"{}\"", self.role.replace('"', "\"\""));
        let version = Self::VERSION;
        format!(
            "-- Tables of inmost, version {version}. Load them once, as the role that is to own them:\n\
             --   psql --set ON_ERROR_STOP=1 --file=THIS_FILE DATABASE\n\
             -- {role} is the role of the programs that use the vaults. It must exist, and can change no table.\n\
             BEGIN;\n\n{TABLES}\n{}\n{INDEX}\n{}\n\
             INSERT INTO inmost.schema_version VALUES ({version});\n\n\
             GRANT USAGE ON SCHEMA inmost TO {role};\n\
             GRANT SELECT ON inmost.schema_version TO {role};\n\
             GRANT SELECT, INSERT, UPDATE, DELETE ON inmost.vault, inmost.generation, inmost.trail, inmost.record TO {role};\n\
             REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA inmost FROM PUBLIC;\n\
             GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA inmost TO {role};\n\n\
             COMMIT;\n",
            self.records(),
            functions(),
        )
    }

    fn records(&self) -> String {
        if self.partitions == 0 {
            return format!("{RECORD}) WITH ({VACUUM});\n{STORAGE}");
        }
        let mut text = format!("{RECORD}) PARTITION BY HASH (vault);\n{STORAGE}");
        for number in 0..self.partitions {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "CREATE TABLE inmost.record_{number} PARTITION OF inmost.record\n  \
                 FOR VALUES WITH (MODULUS {}, REMAINDER {number}) WITH ({VACUUM});",
                self.partitions
            );
        }
        text
    }
}

/// Above this, planning a statement costs more than the partitions save.
const PARTITIONS: u32 = 1_024;

const TABLES: &str = "\
CREATE SCHEMA inmost;

CREATE TABLE inmost.schema_version (version integer NOT NULL);

-- One row a vault. The header holds the vault's keys, sealed; whether it is authentic is for the client to decide.
CREATE TABLE inmost.vault (
  vault bytea PRIMARY KEY CHECK (octet_length(vault) = 16),
  generation bigint NOT NULL CHECK (generation > 0),
  header bytea NOT NULL CHECK (octet_length(header) BETWEEN 1 AND 65536)
);

-- The generations of a vault: the current one, and while it is rewritten the next one, under a lease.
CREATE TABLE inmost.generation (
  vault bytea NOT NULL CHECK (octet_length(vault) = 16),
  generation bigint NOT NULL CHECK (generation > 0),
  lease bytea CHECK (octet_length(lease) = 16),
  lease_until timestamptz,
  root bytea CHECK (octet_length(root) = 32),
  PRIMARY KEY (vault, generation)
);

-- How some of the newest commits of a vault follow each other, for hosts that were away for long. number is that of the commit.
CREATE TABLE inmost.trail (
  vault bytea NOT NULL CHECK (octet_length(vault) = 16),
  number bigint NOT NULL,
  trail bytea NOT NULL CHECK (octet_length(trail) = 192),
  PRIMARY KEY (vault, number)
);

-- The sealed records. rev is the number of the commit that wrote a record.";

const RECORD: &str = "\
CREATE TABLE inmost.record (
  vault bytea NOT NULL CHECK (octet_length(vault) = 16),
  generation bigint NOT NULL,
  address bytea NOT NULL CHECK (octet_length(address) = 32),
  rev bigint NOT NULL,
  value bytea NOT NULL CHECK (octet_length(value) <= 4137),
  PRIMARY KEY (vault, generation, address)
";

/// Ciphertext does not compress, and trying costs a quarter of the time of a load.
const STORAGE: &str = "ALTER TABLE inmost.record ALTER value SET STORAGE EXTERNAL;\n";

const INDEX: &str = "CREATE INDEX record_rev ON inmost.record (vault, generation, rev DESC);\n";

/// Records are overwritten in place, so a fifth of a table, the default, would be dead before it is vacuumed.
const VACUUM: &str =
    "autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_one_transaction_and_quotes_the_role() {
        let text = Schema::new("o\"dd role").unwrap().text();
        assert!(text.contains("BEGIN;") && text.ends_with("COMMIT;\n"));
        assert!(text.contains("TO \"o\"\"dd role\";"));
        assert_eq!(text.matches("PARTITION").count(), 0);
    }

    #[test]
    fn partitions_cover_every_remainder() {
        let text = Schema::new("app").unwrap().partitions(16).unwrap().text();
        for number in 0..16 {
            assert!(text.contains(&format!("(MODULUS 16, REMAINDER {number})")));
        }
        assert_eq!(text.matches("MODULUS").count(), 16);
    }

    #[test]
    fn odd_requests_are_refused() {
        for role in ["", "a\nb", &"x".repeat(64)] {
            assert_eq!(Schema::new(role).err(), Some(SchemaError::Role));
        }
        let app = Schema::new("app").unwrap();
        assert_eq!(app.partitions(1_025).err(), Some(SchemaError::Partitions));
    }
}
