//! The rules that keep devices from losing or repeating texts. Tests switch single ones off: the simulator must then fail.

/// A rule. What each one prevents stands where it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// An object is read after all that its device had read.
    ReadInOrder,
    /// The branches of a log that copies of a device write do not stand for each other.
    BranchesApart,
    /// Before the place is asked for anything, objects are saved that may be put, and what was noticed of the store. A round that
    /// the place ends would forget that the store was put back, or what of a plan a crash had left in it.
    SaveBeforePut,
    /// What is about to be shown is saved before.
    SaveBeforeShow,
    /// A store that was put back is recognised by its versions and its count of commits.
    NoticePutBack,
    /// What a store of unknown freshness lacks is not deleted.
    NoticeDoubt,
    /// A file that a crash left aside was not renamed.
    KnowAside,
    /// What the store does not take is not shown, so that it does not count as deleted.
    HeldIsNotGone,
    /// A change replaces what was shown, and nothing else that is known.
    ReplaceShownOnly,
    /// A change to a conflict publishes the copies that are left.
    PublishCopies,
    /// A change to a conflict publishes the copies that the store did not take.
    PublishHidden,
    /// Texts are shown and files are removed under preconditions, which are up to the store: only that of the simulator ignores them.
    #[cfg(test)]
    Preconditions,
    /// What was put is kept until the other devices have read it.
    KeepUntilRead,
    /// Bytes that the place lists are compared while a device has not read them.
    CompareBytes,
    /// A file that comes to a known id gets another one.
    FreshId,
    /// What a snapshot has replaced is dropped.
    DropReplaced,
    /// What was replaced already is not taken from a snapshot.
    TakeNewOnly,
    /// Objects are removed that a snapshot stands for, and no others.
    CollectCovered,
    /// A device goes on in a new circle with a snapshot.
    CarryOver,
    /// Base texts that were forgotten are dropped.
    DropForgotten,
    /// After texts were forgotten, each device publishes all that it knows anew and removes what it had published.
    RenewForgotten,
    /// A merged text is published before the texts that were merged in it are forgotten.
    SettleForgotten,
}

#[cfg(test)]
impl Rule {
    /// All rules, those first without which schedules fail soonest.
    pub(crate) const ALL: [Self; 22] = [
        Self::CarryOver,
        Self::DropForgotten,
        Self::RenewForgotten,
        Self::SettleForgotten,
        Self::DropReplaced,
        Self::TakeNewOnly,
        Self::CollectCovered,
        Self::HeldIsNotGone,
        Self::ReplaceShownOnly,
        Self::Preconditions,
        Self::KeepUntilRead,
        Self::CompareBytes,
        Self::BranchesApart,
        Self::ReadInOrder,
        Self::FreshId,
        Self::NoticePutBack,
        Self::NoticeDoubt,
        Self::SaveBeforePut,
        Self::KnowAside,
        Self::PublishCopies,
        Self::PublishHidden,
        Self::SaveBeforeShow,
    ];
}

/// Whether a rule holds: always, outside of tests.
#[cfg(not(test))]
pub(crate) const fn holds(_: Rule) -> bool {
    true
}

/// Whether a rule holds: unless a test has switched it off in this thread.
#[cfg(test)]
pub(crate) fn holds(rule: Rule) -> bool {
    switch::OFF.get() != Some(rule)
}

#[cfg(test)]
pub(crate) mod switch {
    use std::cell::Cell;

    use super::Rule;

    thread_local! {
        pub(crate) static OFF: Cell<Option<Rule>> = const { Cell::new(None) };
    }
}
