//! The statements. Each names its tables with their schema and is sent without a name, with the types of its parameters.

use inmost_storage::limits::TRAILS_KEPT;

/// How the root takes part in a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RootForm {
    /// The batch expects nothing.
    Free,
    /// It replaces the root that it expects.
    Replace,
    /// It creates the root, which must be absent.
    Create,
    /// It removes the root that it expects.
    Remove,
    /// It expects a root and leaves it.
    Keep,
    /// It expects that there is no root, and creates none.
    Absent,
}

/// How the header takes part in a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderForm {
    Stays,
    /// It changes with the batch.
    Changes,
    /// It changes, and names another generation.
    Switches,
}

/// Which parts a batch has besides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) root: RootForm,
    /// The generation is under this host's lease, because it is being written.
    pub(super) is_leased: bool,
    pub(super) header: HeaderForm,
}

/// The statement of a batch: compare-and-set of the root, puts and deletes. It returns 1 if the batch was applied, 0 for a
/// conflict, -1 if the lease is lost, and divides by zero, which rolls it back, if only one of header and root is the expected.
///
/// Parameters: 1 vault, 2 generation, 3 root address, 4 expected root, 5 new root, 6 revision, 7 and 8 addresses and values to
/// put, 9 addresses to delete, 10 trail, 11 lease, 12 expected header, 13 new header, 14 generation of the new header.
///
/// READ COMMITTED suffices: a statement that waits for another one's root evaluates `value = $4` again, on the new row. Whatever
/// else it changes comes after that lock, because it asks for the row of `root`.
pub(super) fn commit(form: Form) -> String {
    if form == COMMON {
        return "SELECT inmost.replace_root($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)".to_owned();
    }
    let outcome = match form {
        Form { header: HeaderForm::Switches, .. } => {
            "CASE WHEN NOT EXISTS (SELECT FROM head) THEN 0 \
             ELSE 1 / ((SELECT count(*) FROM root) * (SELECT count(*) FROM ended)) END"
        }
        Form { header: HeaderForm::Changes, .. } => {
            "CASE WHEN NOT EXISTS (SELECT FROM head) THEN 0 ELSE 1 / (SELECT count(*) FROM root) END"
        }
        Form { is_leased: true, .. } => {
            &format!("CASE WHEN {} THEN (SELECT count(*) FROM root) ELSE -1 END", leased(form.root))
        }
        _ => "(SELECT count(*) FROM root)",
    };
    format!("WITH {} SELECT ({outcome})::bigint", parts(form))
}

/// The form of nearly every commit.
const COMMON: Form = Form { root: RootForm::Replace, is_leased: false, header: HeaderForm::Stays };

/// What a commit does, without its result.
fn parts(form: Form) -> String {
    let mut parts = Vec::new();
    let mut gate = "true".to_owned();
    if form.is_leased {
        parts.push(if form.root == RootForm::Free { LEASE } else { LEASE_AND_ROOT }.to_owned());
        gate.push_str(" AND ");
        gate.push_str(leased(form.root));
    }
    if form.header != HeaderForm::Stays {
        parts.push(HEAD.to_owned());
        gate.push_str(" AND EXISTS (SELECT FROM head)");
    }
    parts.push(root(form.root, &gate));
    if form.header == HeaderForm::Switches {
        parts.push(ENDED.to_owned());
    }
    parts.push(PUT.to_owned());
    parts.extend([GONE.to_owned(), TRAIL.to_owned(), old_trails()]);
    parts.join(", ")
}

/// The condition that the lease is this host's. It may also have ended, because the generation is the current one by now; but then
/// only a batch that expects an earlier root may come. Any other could be a late one of an earlier writer of this number.
fn leased(form: RootForm) -> &'static str {
    match form {
        RootForm::Replace | RootForm::Remove | RootForm::Keep => LEASED_OR_CURRENT,
        RootForm::Free | RootForm::Create | RootForm::Absent => LEASED,
    }
}

fn root(form: RootForm, gate: &str) -> String {
    let is_root = "vault = $1 AND generation = $2 AND address = $3";
    match form {
        RootForm::Free => format!("root AS (SELECT 1 WHERE {gate})"),
        RootForm::Replace => format!(
            "root AS (UPDATE inmost.record SET value = $5, rev = $6 WHERE {is_root} AND value = $4 AND {gate} RETURNING 1)"
        ),
        RootForm::Create => format!(
            "root AS (INSERT INTO inmost.record (vault, generation, address, rev, value) \
             SELECT $1, $2, $3, $6, $5 WHERE {gate} ON CONFLICT DO NOTHING RETURNING 1)"
        ),
        RootForm::Remove => {
            format!(
                "root AS (DELETE FROM inmost.record WHERE {is_root} AND value = $4 AND {gate} RETURNING 1)"
            )
        }
        RootForm::Keep => format!(
            "root AS (SELECT 1 FROM inmost.record WHERE {is_root} AND value = $4 AND {gate} FOR NO KEY UPDATE)"
        ),
        RootForm::Absent => {
            format!(
                "root AS (SELECT 1 WHERE NOT EXISTS (SELECT FROM inmost.record WHERE {is_root}) AND {gate})"
            )
        }
    }
}

const LEASE: &str = "lease AS (SELECT 1 FROM inmost.generation \
    WHERE vault = $1 AND generation = $2 AND lease = $11 FOR SHARE)";
const LEASE_AND_ROOT: &str = "lease AS (UPDATE inmost.generation SET root = $3 \
    WHERE vault = $1 AND generation = $2 AND lease = $11 RETURNING 1)";
const LEASED: &str = "EXISTS (SELECT FROM lease)";
const LEASED_OR_CURRENT: &str = "(EXISTS (SELECT FROM lease) \
    OR EXISTS (SELECT FROM inmost.vault v WHERE v.vault = $1 AND v.generation = $2))";
const HEAD: &str = "head AS (UPDATE inmost.vault SET header = $13, generation = $14 \
    WHERE vault = $1 AND header = $12 RETURNING 1)";
const ENDED: &str = "ended AS (UPDATE inmost.generation SET lease = NULL, lease_until = NULL \
    WHERE vault = $1 AND generation = $14 AND lease = $11 AND EXISTS (SELECT FROM root) RETURNING 1)";
const PUT: &str = "put AS (INSERT INTO inmost.record (vault, generation, address, rev, value) \
    SELECT $1, $2, a, $6, v FROM unnest($7::bytea[], $8::bytea[]) u(a, v) WHERE EXISTS (SELECT FROM root) \
    ON CONFLICT (vault, generation, address) DO UPDATE SET value = excluded.value, rev = excluded.rev)";
const GONE: &str = "gone AS (DELETE FROM inmost.record r USING unnest($9::bytea[]) d(a) \
    WHERE r.vault = $1 AND r.generation = $2 AND r.address = d.a AND EXISTS (SELECT FROM root))";

const TRAIL: &str = "trail AS (INSERT INTO inmost.trail (vault, number, trail) \
    SELECT $1, $6, $10 WHERE $10 IS NOT NULL AND EXISTS (SELECT FROM root) \
    ON CONFLICT (vault, number) DO UPDATE SET trail = excluded.trail)";

fn old_trails() -> String {
    format!(
        "old AS (DELETE FROM inmost.trail WHERE vault = $1 AND number < $6 - {TRAILS_KEPT} \
         AND $10 IS NOT NULL AND EXISTS (SELECT FROM root))"
    )
}

/// Trails: 2 the number of the known root, 3 that of the newest.
pub(super) const TRAILS: &str = "SELECT trail FROM inmost.trail WHERE vault = $1 AND number <= $3 AND number >= \
      coalesce((SELECT max(number) FROM inmost.trail WHERE vault = $1 AND number <= $2), 0) ORDER BY number LIMIT 1000";

/// Values by address, in order. `OFFSET 0` keeps the planner from reading the whole vault for many of them.
pub(super) const GET_MANY: &str = "SELECT r.value FROM unnest($3::bytea[]) WITH ORDINALITY u(a, n) \
    LEFT JOIN LATERAL (SELECT value FROM inmost.record \
      WHERE vault = $1 AND generation = $2 AND address = u.a OFFSET 0) r ON true ORDER BY u.n";

/// A page of records: 3 the address before it, 4 its length.
pub(super) const SCAN: &str = "SELECT address, value FROM inmost.record \
    WHERE vault = $1 AND generation = $2 AND address > $3 ORDER BY address LIMIT $4";

/// Functions of the schema, for the two statements that are run most. To plan them takes longer than to run them, and a function keeps
/// its plan for as long as a connection lasts, also behind a connection pool. Without statistics the planner would read small
/// tables from the beginning to the end, and keep doing so when they have grown.
pub(super) fn functions() -> String {
    const OPTIONS: &str =
        "LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off";
    let commit = parts(COMMON);
    format!(
        "CREATE FUNCTION inmost.pull(bytea, bigint, bytea, bytea, bigint, bigint) \n  \
         RETURNS TABLE (of_header bigint, is_same boolean, of_record bytea, its_value bytea)\n  \
         {OPTIONS} STABLE AS $body$ BEGIN RETURN QUERY\n  {CHANGED};\nEND $body$;\n\n\
         CREATE FUNCTION inmost.replace_root(bytea, bigint, bytea, bytea, bytea, bigint, bytea[], bytea[], bytea[], bytea)\n  \
         RETURNS bigint {OPTIONS} AS $body$ DECLARE replaced bigint; BEGIN\n  \
         WITH {commit} SELECT count(*) FROM root INTO replaced;\n  RETURN replaced;\nEND $body$;\n"
    )
}

/// See [`functions`].
pub(super) const PULL: &str = "SELECT * FROM inmost.pull($1, $2, $3, $4, $5, $6)";

/// What changed: 3 the root's address, 4 the known root, 5 its revision, 6 the most rows. First a row with the generation of the
/// header, whether the root is the known one, and the root if it is not. One statement sees one state.
const CHANGED: &str = "WITH root AS (SELECT value FROM inmost.record \
      WHERE vault = $1 AND generation = $2 AND address = $3), \
    same AS (SELECT 1 FROM root WHERE value = $4), \
    newest AS (SELECT address, value, rev FROM inmost.record \
      WHERE vault = $1 AND generation = $2 AND rev > $5 AND address <> $3 AND NOT EXISTS (SELECT FROM same) \
      ORDER BY rev DESC LIMIT $6) \
    SELECT (SELECT generation FROM inmost.vault WHERE vault = $1), EXISTS (SELECT FROM same), NULL::bytea, \
      (SELECT value FROM root WHERE NOT EXISTS (SELECT FROM same)) \
    UNION ALL (SELECT 0::bigint, false, address, value FROM newest ORDER BY rev DESC)";

/// Everything that an unlock needs: 1 the vault, 2 the most records.
pub(super) const OPEN: &str = "WITH head AS (SELECT generation, header FROM inmost.vault WHERE vault = $1), \
    top AS (SELECT g.root FROM inmost.generation g JOIN head h ON g.generation = h.generation WHERE g.vault = $1) \
    SELECT 0, version::bigint, NULL::bytea, NULL::bytea FROM inmost.schema_version \
    UNION ALL SELECT 1, CASE WHEN current_setting('synchronous_commit') = 'off' THEN 1 \
      WHEN current_setting('fsync') = 'off' THEN 2 \
      WHEN current_setting('client_min_messages') IN ('error', 'fatal', 'panic') THEN 3 ELSE 0 END::bigint, NULL, NULL \
    UNION ALL SELECT 2, generation, NULL, header FROM head \
    UNION ALL SELECT 3, generation, NULL, NULL FROM inmost.generation WHERE vault = $1 \
    UNION ALL SELECT 4, r.generation, r.address, r.value FROM inmost.record r, head h, top t \
      WHERE r.vault = $1 AND r.generation = h.generation AND r.address = t.root \
    UNION ALL (SELECT 5, r.rev, r.address, r.value FROM inmost.record r \
      WHERE r.vault = $1 AND r.generation = (SELECT generation FROM head) AND r.address <> (SELECT root FROM top) \
      ORDER BY r.rev DESC LIMIT $2)";

pub(super) const HEADER: &str = "SELECT header FROM inmost.vault WHERE vault = $1";
pub(super) const GENERATIONS: &str =
    "SELECT generation FROM inmost.generation WHERE vault = $1 ORDER BY generation";

/// Takes a lease on a new generation: 3 its length in seconds. Returns the lease, and whether a dead host had the generation.
pub(super) const CREATE_GENERATION: &str = "INSERT INTO inmost.generation AS g (vault, generation, lease, lease_until) \
    VALUES ($1, $2, uuid_send(gen_random_uuid()), now() + $3 * interval '1 second') \
    ON CONFLICT (vault, generation) DO UPDATE SET lease = excluded.lease, lease_until = excluded.lease_until, root = NULL \
      WHERE g.lease_until < now() \
    RETURNING lease, xmax <> 0";
pub(super) const RENEW_LEASE: &str = "UPDATE inmost.generation SET lease_until = now() + $4 * interval '1 second' \
    WHERE vault = $1 AND generation = $2 AND lease = $3 RETURNING 1::bigint";

/// Takes the leases of generations that nobody needs: 2 this host's leases, 3 seconds, 4 the only one that is meant, or NULL.
///
/// The row of the vault is locked first. Otherwise a generation that a rewrite makes the current one at this moment could
/// count as one without a lease. If a rewrite has locked it, nothing is taken: to wait for it could be to wait for ever, because that
/// rewrite may wait for a root that this host has locked.
pub(super) const CLAIM_LEFTOVERS: &str = "WITH head AS (SELECT generation FROM inmost.vault WHERE vault = $1 \
      FOR SHARE SKIP LOCKED) \
    UPDATE inmost.generation g SET lease = uuid_send(gen_random_uuid()), lease_until = now() + $3 * interval '1 second' \
    FROM head WHERE g.vault = $1 AND g.generation <> head.generation AND ($4::bigint IS NULL OR g.generation = $4) \
      AND (g.lease IS NULL OR g.lease_until < now() OR g.lease = ANY($2)) RETURNING g.generation, g.lease";
/// The same for a vault without a header, for one generation of this host.
pub(super) const CLAIM_OWN: &str = "UPDATE inmost.generation g SET lease_until = now() + $3 * interval '1 second' \
    WHERE g.vault = $1 AND g.generation = $4 AND g.lease = ANY($2) \
      AND NOT EXISTS (SELECT FROM inmost.vault v WHERE v.vault = $1) RETURNING g.generation, g.lease";
/// Deletes some records of a generation under lease 3, and returns how many. Renews the lease by 4 seconds.
pub(super) const REMOVE_SOME: &str = "WITH lease AS (UPDATE inmost.generation \
      SET lease_until = now() + $4 * interval '1 second' WHERE vault = $1 AND generation = $2 AND lease = $3 RETURNING 1), \
    gone AS (DELETE FROM inmost.record WHERE vault = $1 AND generation = $2 AND EXISTS (SELECT FROM lease) \
      AND address IN (SELECT address FROM inmost.record WHERE vault = $1 AND generation = $2 LIMIT 2000) RETURNING 1) \
    SELECT count(*) FROM gone";
pub(super) const REMOVE_GENERATION: &str = "DELETE FROM inmost.generation WHERE vault = $1 AND generation = $2 AND lease = $3 RETURNING 1::bigint";

/// Creates the row of a vault, and ends the lease 4 on its generation 2.
pub(super) const CREATE_VAULT: &str = "WITH put AS (INSERT INTO inmost.vault (vault, generation, header) \
      VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1), \
    ended AS (UPDATE inmost.generation SET lease = NULL, lease_until = NULL \
      WHERE vault = $1 AND generation = $2 AND lease = $4 AND EXISTS (SELECT FROM put) RETURNING 1) \
    SELECT (CASE WHEN NOT EXISTS (SELECT FROM put) THEN 0 ELSE 1 / (SELECT count(*) FROM ended) END)::bigint";

/// Notes the address 3 of the root, for the next opening. A rewrite fills a generation without naming its root.
pub(super) const NOTE_ROOT: &str = "UPDATE inmost.generation SET root = $3 \
    WHERE vault = $1 AND generation = $2 AND root IS NULL RETURNING 1::bigint";

/// Changes nothing, but is a commit: its acknowledgement vouches for every commit before it.
pub(super) const VOUCH: &str =
    "UPDATE inmost.vault SET generation = generation WHERE vault = $1 RETURNING 1::bigint";

pub(super) const DESTROY_HEADER: &str =
    "DELETE FROM inmost.vault WHERE vault = $1 RETURNING 1::bigint";
pub(super) const DESTROY_SOME: &str = "WITH gone AS (DELETE FROM inmost.record r \
      USING (SELECT generation, address FROM inmost.record WHERE vault = $1 LIMIT 2000) d \
      WHERE r.vault = $1 AND r.generation = d.generation AND r.address = d.address RETURNING 1) \
    SELECT count(*) FROM gone";
pub(super) const DESTROY_GENERATIONS: &str =
    "DELETE FROM inmost.generation WHERE vault = $1 RETURNING 1::bigint";
pub(super) const DESTROY_TRAILS: &str =
    "DELETE FROM inmost.trail WHERE vault = $1 RETURNING 1::bigint";

/// Bytes of a generation, or of all with NULL: values, keys and revisions, without what the server adds.
pub(super) const SIZE: &str = "SELECT coalesce(sum(octet_length(value) + 64), 0)::bigint FROM inmost.record \
    WHERE vault = $1 AND ($2::bigint IS NULL OR generation = $2)";

/// Parts of a generation for a reader of bare bytes: the last address of each, and its bytes.
pub(super) const PARTS: &str = "SELECT (array_agg(address ORDER BY address DESC))[1], sum(length)::bigint FROM \
    (SELECT address, octet_length(value) AS length, (row_number() OVER (ORDER BY address) - 1) / 512 AS part \
     FROM inmost.record WHERE vault = $1 AND generation = $2) numbered GROUP BY part ORDER BY part";
pub(super) const PART: &str = "SELECT value FROM inmost.record \
    WHERE vault = $1 AND generation = $2 AND address > $3 AND address <= $4 ORDER BY address";

pub(super) const FACTS: &str = "SELECT current_setting('server_version'), pg_is_in_recovery()::text, \
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names')";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_and_its_root_change_together_or_not_at_all() {
        let form = Form { root: RootForm::Replace, is_leased: false, header: HeaderForm::Changes };
        let text = commit(form);
        assert!(text.contains("AND EXISTS (SELECT FROM head) RETURNING 1"));
        assert!(text.contains("1 / (SELECT count(*) FROM root)"));
    }
}
