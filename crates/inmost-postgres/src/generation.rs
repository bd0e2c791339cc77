//! The reads of one generation, on any connection: one in the pool, or one inside a transaction.

use std::sync::Arc;

use inmost_storage::{Address, Delta, Known, Limit, Pull, SharedBatch, StorageError, limits};
use tokio_postgres::types::Type;

use super::connection::{Connection, Parameter};
use super::failure::Failure;
use super::place::Place;
use super::statements::{Form, HeaderForm, RootForm};
use super::{rows, statements};

/// One generation of a vault.
#[derive(Clone)]
pub(super) struct Generation {
    pub(super) place: Arc<Place>,
    pub(super) number: i64,
}

impl Generation {
    pub(super) fn get_many(
        &self,
        connection: &mut Connection,
        addresses: &[Address],
    ) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let asked: Vec<&[u8]> = addresses.iter().map(|address| address.0.as_slice()).collect();
        let (vault, number) = (self.place.vault(), self.number);
        let parameters: [Parameter<'_>; 3] =
            [(&vault, Type::BYTEA), (&number, Type::INT8), (&asked, Type::BYTEA_ARRAY)];
        let found = connection.read(statements::GET_MANY, &parameters)?;
        if found.len() != addresses.len() {
            return Err(Failure::Malformed("another number of values"));
        }
        found.iter().map(|row| rows::optional_value(row, 0)).collect()
    }

    pub(super) fn scan(
        &self,
        connection: &mut Connection,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, Failure> {
        // Nothing is before the empty address, and it is before every address.
        let after = after.map_or([].as_slice(), |address| address.0.as_slice());
        let (vault, number) = (self.place.vault(), self.number);
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = connection.read(
            statements::SCAN,
            &[
                (&vault, Type::BYTEA),
                (&number, Type::INT8),
                (&after, Type::BYTEA),
                (&most, Type::INT8),
            ],
        )?;
        if found.len() > limit {
            return Err(Failure::Malformed("more records than asked for"));
        }
        let records = found.iter().map(|row| Ok((rows::address(row, 0)?, rows::value(row, 1)?)));
        let records: Vec<(Address, Vec<u8>)> = records.collect::<Result<_, Failure>>()?;
        // Otherwise a server could keep a reader of all pages busy for ever.
        let follows = |record: &(Address, Vec<u8>)| record.0.0.as_slice() > after;
        if !records.iter().all(follows) || !records.is_sorted_by(|one, next| one.0 < next.0) {
            return Err(Failure::Malformed("records out of order"));
        }
        Ok(records)
    }

    pub(super) fn pull(
        &self,
        connection: &mut Connection,
        known: &Known<'_>,
        limit: Limit,
    ) -> Result<Pull, Failure> {
        let (vault, number, root) = (self.place.vault(), self.number, known.root.0.as_slice());
        // Without a known root, rows of revision 0 count too.
        let revision = known.root_value.map_or(-1, |_| as_revision(known.revision));
        let most = i64::try_from(limit.records.saturating_add(1)).unwrap_or(i64::MAX);
        let found = connection.read(
            statements::PULL,
            &[
                (&vault, Type::BYTEA),
                (&number, Type::INT8),
                (&root, Type::BYTEA),
                (&known.root_value, Type::BYTEA),
                (&revision, Type::INT8),
                (&most, Type::INT8),
            ],
        )?;
        let (first, newest) = found.split_first().ok_or(Failure::Malformed("no row"))?;
        let current: Option<i64> = rows::column(first, 0)?;
        let is_same: bool = rows::column(first, 1)?;
        if is_same && current == Some(number) {
            return Ok(Pull::Unchanged);
        }
        // The statement leaves out a root that is the known one.
        let root = if is_same {
            known.root_value.map(<[u8]>::to_vec)
        } else {
            rows::optional_value(first, 3)?
        };
        // A vault that was destroyed has no generation; 0 is that of none.
        let generation = u64::try_from(current.unwrap_or(0));
        let generation = generation.map_err(|_| Failure::Malformed("a negative generation"))?;
        let mut delta = Delta { generation, root, rows: Vec::new(), is_complete: true };
        let newest = newest.iter().map(|row| Ok((rows::address(row, 2)?, rows::value(row, 3)?)));
        fill(&mut delta, newest, limit)?;
        Ok(Pull::Changed(delta))
    }

    pub(super) fn trails(
        &self,
        connection: &mut Connection,
        since: u64,
        until: u64,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let vault = self.place.vault();
        let (since, until) = (as_revision(since), as_revision(until));
        let found = connection.read(
            statements::TRAILS,
            &[(&vault, Type::BYTEA), (&since, Type::INT8), (&until, Type::INT8)],
        )?;
        found.iter().map(|row| rows::value(row, 0)).collect()
    }

    pub(super) fn size(&self, connection: &mut Connection) -> Result<u64, Failure> {
        size(connection, self.place.vault(), Some(self.number))
    }

    /// The statement of a batch, and its parameters.
    pub(super) fn prepare<'a>(
        &'a self,
        batch: &'a SharedBatch,
    ) -> Result<Commit<'a>, StorageError> {
        let SharedBatch { records, revision, trail, header } = batch;
        records.check_bounds()?;
        let expect = records.expect.as_ref();
        let root = expect.map(|(address, _)| *address);
        let is_root = |address: &Address| root == Some(*address);
        let deletes_root = records.deletes.iter().any(is_root);
        // A record that is put and deleted is deleted, as by every engine.
        let kept = || records.puts.iter().filter(|(address, _)| !records.deletes.contains(address));
        let new_root =
            kept().find(|(address, _)| is_root(address)).map(|(_, value)| value.as_slice());
        let form = match (expect, new_root) {
            (None, _) => RootForm::Free,
            (Some((_, Some(_))), _) if deletes_root => RootForm::Remove,
            (Some((_, Some(_))), Some(_)) => RootForm::Replace,
            (Some((_, Some(_))), None) => RootForm::Keep,
            (Some((_, None)), Some(_)) => RootForm::Create,
            (Some((_, None)), None) => RootForm::Absent,
        };
        let header = header.as_ref();
        let next = header.map(|header| as_generation(header.generation)).transpose()?;
        let switches = next.is_some_and(|next| next != self.number);
        let leased = if switches { next.unwrap_or(self.number) } else { self.number };
        let lease = self.place.lease(leased);
        Ok(Commit {
            form: Form {
                root: form,
                is_leased: lease.is_some() && !switches,
                header: match header {
                    Some(_) if switches => HeaderForm::Switches,
                    Some(_) => HeaderForm::Changes,
                    None => HeaderForm::Stays,
                },
            },
            root: root.map(|address| address.0.to_vec()),
            expected: expect.and_then(|(_, value)| value.as_deref()),
            new_root,
            revision: as_revision(*revision),
            addresses: kept()
                .filter(|(it, _)| !is_root(it))
                .map(|(it, _)| it.0.as_slice())
                .collect(),
            values: kept().filter(|(it, _)| !is_root(it)).map(|(_, it)| it.as_slice()).collect(),
            deletes: records
                .deletes
                .iter()
                .filter(|it| !is_root(it))
                .map(|it| it.0.as_slice())
                .collect(),
            lease,
            header_expected: header.map(|header| header.expect.as_slice()),
            header_next: header.map(|header| header.next.as_slice()),
            next,
            trail: trail.as_deref(),
        })
    }
}

/// A batch as a statement.
pub(super) struct Commit<'a> {
    form: Form,
    root: Option<Vec<u8>>,
    expected: Option<&'a [u8]>,
    new_root: Option<&'a [u8]>,
    revision: i64,
    addresses: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
    deletes: Vec<&'a [u8]>,
    lease: Option<Vec<u8>>,
    header_expected: Option<&'a [u8]>,
    header_next: Option<&'a [u8]>,
    next: Option<i64>,
    trail: Option<&'a [u8]>,
}

impl Commit<'_> {
    /// Sends the batch, with `COMMIT` behind it if it ends a transaction.
    pub(super) fn send(
        &self,
        generation: &Generation,
        connection: &mut Connection,
        ends: bool,
    ) -> Result<(), StorageError> {
        let (vault, number) = (generation.place.vault(), generation.number);
        let text = statements::commit(self.form);
        let parameters: [Parameter<'_>; 14] = [
            (&vault, Type::BYTEA),
            (&number, Type::INT8),
            (&self.root, Type::BYTEA),
            (&self.expected, Type::BYTEA),
            (&self.new_root, Type::BYTEA),
            (&self.revision, Type::INT8),
            (&self.addresses, Type::BYTEA_ARRAY),
            (&self.values, Type::BYTEA_ARRAY),
            (&self.deletes, Type::BYTEA_ARRAY),
            (&self.trail, Type::BYTEA),
            (&self.lease, Type::BYTEA),
            (&self.header_expected, Type::BYTEA),
            (&self.header_next, Type::BYTEA),
            (&self.next, Type::INT8),
        ];
        let sent = if ends {
            connection.query_and_commit(&text, &parameters)
        } else {
            connection.query(&text, &parameters)
        };
        let outcome = sent.and_then(|found| rows::number(&found));
        match outcome.map_err(Failure::of_commit)? {
            1 => {
                if let (HeaderForm::Switches, Some(next)) = (self.form.header, self.next) {
                    generation.place.end_lease(next);
                }
                Ok(())
            }
            0 => Err(StorageError::Conflict),
            // The root that is expected is gone, so another host has switched to a newer generation.
            -1 if matches!(self.form.root, RootForm::Replace | RootForm::Keep) => {
                Err(StorageError::Conflict)
            }
            -1 => Err(StorageError::Missing),
            _ => Err(Failure::Malformed("an odd outcome").of_commit()),
        }
    }
}

/// The bytes of a generation, or of all generations of a vault.
pub(super) fn size(
    connection: &mut Connection,
    vault: &[u8],
    number: Option<i64>,
) -> Result<u64, Failure> {
    let found =
        connection.read(statements::SIZE, &[(&vault, Type::BYTEA), (&number, Type::INT8)])?;
    u64::try_from(rows::number(&found)?).map_err(|_| Failure::Malformed("a negative size"))
}

/// Puts rows into a delta as far as the limit allows.
pub(super) fn fill(
    delta: &mut Delta,
    newest: impl Iterator<Item = Result<(Address, Vec<u8>), Failure>>,
    limit: Limit,
) -> Result<(), Failure> {
    let mut bytes = 0_usize;
    for row in newest {
        let (address, value) = row?;
        bytes = bytes.saturating_add(value.len());
        if delta.rows.len() >= limit.records || bytes > limit.bytes {
            delta.is_complete = false;
            return Ok(());
        }
        delta.rows.push((address, value));
    }
    Ok(())
}

/// The number of a generation as the database holds it.
pub(super) fn as_generation(number: u64) -> Result<i64, StorageError> {
    let stored = i64::try_from(number).ok().filter(|number| *number > 0);
    stored.ok_or_else(|| {
        StorageError::Unavailable(format!(
            "the database holds no generation of the number {number}"
        ))
    })
}

/// A number of a commit as the database holds it. No store reaches half of all numbers.
fn as_revision(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The most that the records of a pull may hold, by the limits of the traits.
pub(super) const OPENING: Limit =
    Limit { records: limits::PULL_RECORDS, bytes: limits::PULL_BYTES };
