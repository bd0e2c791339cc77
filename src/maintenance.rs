//! Maintenance of a whole store: rewrite, check, repair, salvage and backup.

mod backup;
mod backups;
mod bare_records;
mod check;
mod check_report;
mod copy;
#[cfg(feature = "postgres")]
mod into_vault;
mod new_nodes;
mod newest_root;
mod recovery;
mod repair;
mod rewrite;
mod rotate;
mod salvage;
mod set_aside;

pub use backup::VerifiedCopy;
pub use backups::{BackupInfo, BackupOptions, BackupReport, Backups};
#[cfg(test)]
pub(crate) use bare_records::BareRecords;
pub use check_report::{CheckReport, StoreProblem};
pub use recovery::{OlderVersion, RecoveryReport};
pub use set_aside::SetAside;
