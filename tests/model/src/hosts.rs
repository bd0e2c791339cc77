//! Hosts that share a vault in a database, as a model: batches that expect the root before them, requests and replies that are lost, late
//! or doubled, and how a host finds out what became of its batch.
//!
//! It has the rules of docs/FORMAT.md and docs/POSTGRESQL.md and no code of the store. A root is the batch that made it. An explorer goes
//! through all states of it (`main.rs`), and a test runs paths of it with real sessions. Not in it: headers, leases, replicas that are
//! behind, and a server that lies. Does no I/O.

use std::collections::BTreeSet;

/// A batch: the call that it is of, and which attempt. The first root is no batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Batch {
    pub(crate) call: u8,
    attempt: u8,
    /// The number of the commit that it makes, if it is applied.
    number: usize,
    /// The root that it expects: the last batch, if there is one.
    over: Option<(u8, u8)>,
}

/// A rule that can be left out, to see that the model notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// A batch is applied if the root is the one that it expects.
    Expect,
    /// A batch whose reply was lost is sent again before anything is concluded.
    SendAgain,
    /// A batch that was refused is looked for: its first copy may have been applied.
    LookAgain,
    /// A root that does not name earlier ones far enough says nothing about a batch.
    Reach,
}

pub(crate) const RULES: [Rule; 4] = [Rule::Expect, Rule::SendAgain, Rule::LookAgain, Rule::Reach];

/// How far a model goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) hosts: u8,
    /// Calls of each host.
    pub(crate) calls: u8,
    /// Requests that do not go well.
    pub(crate) faults: u8,
    /// How many earlier roots a root names.
    pub(crate) reach: usize,
    /// The server keeps what every so many-th root names.
    pub(crate) kept: usize,
    pub(crate) without: Option<Rule>,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Fate {
    Perform,
    /// It surely does not reach the server.
    Refuse,
    LoseRequest,
    LoseReply,
    /// It reaches the server later.
    Delay,
    /// It reaches the server twice, and the second reply comes.
    Double,
}

pub(crate) const FATES: [Fate; 6] =
    [Fate::Perform, Fate::Refuse, Fate::LoseRequest, Fate::LoseReply, Fate::Delay, Fate::Double];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stage {
    /// The call sees the newest state and makes its batch, with this attempt.
    Begin(u8),
    /// The batch is to be sent.
    Send(Batch),
    /// Nobody knows what became of it.
    Again(Batch),
    /// The server has refused it, because of another root.
    Look(Batch),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Outcome {
    Done,
    /// The call has changed nothing.
    Unavailable,
    /// It may have.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    /// The batches that were applied, in their order.
    pub(crate) applied: Vec<Batch>,
    late: BTreeSet<Batch>,
    /// What each host does, and how many calls it has begun.
    pub(crate) hosts: Vec<(Option<Stage>, u8)>,
    /// The calls that have returned.
    pub(crate) outcomes: Vec<(u8, Outcome)>,
    /// How many batches were applied when each call began.
    begun: Vec<(u8, usize)>,
    overtaken: BTreeSet<Batch>,
    /// The server has lost what names the roots up to this one.
    lost: Option<usize>,
    faults: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// A host begins a call.
    Call(u8),
    /// It learns of the newest state, and makes its batch.
    Make(u8),
    Send(u8, Fate),
    /// It learns of the newest state, and concludes from it.
    Look(u8),
    /// It gives up finding out.
    GiveUp(u8),
    Deliver(Batch),
    /// The server loses what it keeps to name earlier roots.
    LoseTrails,
}

impl State {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            applied: Vec::new(),
            late: BTreeSet::new(),
            hosts: vec![(None, 0); usize::from(bounds.hosts)],
            outcomes: Vec::new(),
            begun: Vec::new(),
            overtaken: BTreeSet::new(),
            lost: None,
            faults: 0,
        }
    }

    /// What can happen next.
    pub(crate) fn actions(&self, bounds: &Bounds) -> Vec<Action> {
        let mut actions: Vec<Action> = self.late.iter().copied().map(Action::Deliver).collect();
        if self.lost.is_none_or(|lost| lost < self.applied.len()) {
            actions.push(Action::LoseTrails);
        }
        for (host, (stage, calls)) in (0..).zip(&self.hosts) {
            match stage {
                None if *calls < bounds.calls => actions.push(Action::Call(host)),
                None => {}
                Some(Stage::Begin(_)) => actions.push(Action::Make(host)),
                Some(Stage::Send(_) | Stage::Again(_)) => {
                    let may_fail = self.faults < bounds.faults;
                    let fates = FATES.into_iter().filter(|fate| may_fail || *fate == Fate::Perform);
                    actions.extend(fates.map(|fate| Action::Send(host, fate)));
                    if matches!(stage, Some(Stage::Again(_))) {
                        actions.push(Action::GiveUp(host));
                    }
                }
                Some(Stage::Look(_)) => actions.push(Action::Look(host)),
            }
        }
        actions
    }

    /// The state after an action.
    pub(crate) fn next(&self, bounds: &Bounds, action: Action) -> Self {
        let mut next = self.clone();
        next.act(bounds, action);
        next
    }

    fn act(&mut self, bounds: &Bounds, action: Action) {
        let holds = |rule| bounds.without != Some(rule);
        match action {
            Action::Deliver(batch) => {
                self.late.remove(&batch);
                self.apply(bounds, batch);
            }
            Action::LoseTrails => self.lost = Some(self.applied.len()),
            Action::Call(host) => {
                let (stage, calls) = &mut self.hosts[usize::from(host)];
                (*stage, *calls) = (Some(Stage::Begin(0)), *calls + 1);
                self.begun.push((call_of(host, *calls), self.applied.len()));
            }
            Action::Make(host) => {
                let (stage, calls) = self.hosts[usize::from(host)];
                if let Some(Stage::Begin(attempt)) = stage {
                    let (call, number) = (call_of(host, calls), self.applied.len() + 1);
                    let batch = Batch { call, attempt, number, over: self.root() };
                    self.hosts[usize::from(host)].0 = Some(Stage::Send(batch));
                }
            }
            Action::Send(host, fate) => {
                self.faults += u8::from(fate != Fate::Perform);
                let stage = self.hosts[usize::from(host)].0;
                let Some(Stage::Send(batch) | Stage::Again(batch)) = stage else { return };
                let unknown = if holds(Rule::SendAgain) { Stage::Again } else { Stage::Look };
                let next = match fate {
                    Fate::Perform if self.apply(bounds, batch) => None,
                    Fate::Double if self.apply(bounds, batch) && self.apply(bounds, batch) => None,
                    Fate::Perform | Fate::Double => Some(Stage::Look(batch)),
                    Fate::Refuse if matches!(stage, Some(Stage::Send(_))) => {
                        return self.end(host, Outcome::Unavailable);
                    }
                    Fate::Refuse | Fate::LoseRequest => Some(unknown(batch)),
                    Fate::LoseReply => {
                        self.apply(bounds, batch);
                        Some(unknown(batch))
                    }
                    Fate::Delay => {
                        self.late.insert(batch);
                        Some(unknown(batch))
                    }
                };
                match next {
                    None => self.end(host, Outcome::Done),
                    Some(stage) => self.hosts[usize::from(host)].0 = Some(stage),
                }
            }
            Action::Look(host) => {
                let Some(Stage::Look(batch)) = self.hosts[usize::from(host)].0 else { return };
                match self.judge(bounds, &batch) {
                    Some(true) => self.end(host, Outcome::Done),
                    Some(false) => {
                        self.overtaken.insert(batch);
                        self.hosts[usize::from(host)].0 = Some(Stage::Begin(batch.attempt + 1));
                    }
                    None => self.end(host, Outcome::Unknown),
                }
            }
            Action::GiveUp(host) => self.end(host, Outcome::Unknown),
        }
    }

    fn end(&mut self, host: u8, outcome: Outcome) {
        let (stage, calls) = &mut self.hosts[usize::from(host)];
        *stage = None;
        self.outcomes.push((call_of(host, *calls), outcome));
    }

    fn root(&self) -> Option<(u8, u8)> {
        self.applied.last().map(|batch| (batch.call, batch.attempt))
    }

    /// Applies a batch if it is on top of the present root.
    fn apply(&mut self, bounds: &Bounds, batch: Batch) -> bool {
        let is_next = batch.over == self.root() || bounds.without == Some(Rule::Expect);
        if is_next {
            self.applied.push(batch);
        }
        is_next
    }

    /// Whether a batch that can come no more is part of the present state. `None` if that cannot be told.
    fn judge(&self, bounds: &Bounds, batch: &Batch) -> Option<bool> {
        if bounds.without == Some(Rule::LookAgain) {
            return Some(false);
        }
        let expected = batch.number - 1;
        let named = self.applied.len().saturating_sub(bounds.reach);
        if bounds.without == Some(Rule::Reach) {
            return Some(self.applied[named..].contains(batch));
        }
        // The newest root names the expected one, or kept ones lead there: from one that is not after it.
        let kept = |number: usize| number / bounds.kept;
        let is_told = expected >= named || self.lost.is_none_or(|lost| kept(expected) > kept(lost));
        is_told.then(|| self.applied.contains(batch))
    }

    /// A promise that is broken.
    pub(crate) fn violation(&self) -> Option<&'static str> {
        let times = |call: u8| self.applied.iter().filter(|batch| batch.call == call).count();
        for batch in &self.applied {
            if times(batch.call) > 1 {
                return Some("a call is carried out twice");
            }
            if self.overtaken.contains(batch) {
                return Some("a batch is applied that its host believes to be overtaken");
            }
        }
        for (call, outcome) in &self.outcomes {
            match outcome {
                Outcome::Done if times(*call) == 0 => return Some("a call is lost that returned"),
                Outcome::Unavailable if times(*call) > 0 => {
                    return Some("a call is carried out that has failed");
                }
                _ => {}
            }
        }
        let is_early = |(call, before): &(u8, usize)| {
            self.applied[..(*before).min(self.applied.len())]
                .iter()
                .any(|batch| batch.call == *call)
        };
        self.begun.iter().any(is_early).then_some("a call is carried out before it began")
    }
}

/// The number of a call of a host, which has begun so many.
pub(crate) fn call_of(host: u8, calls: u8) -> u8 {
    host * 64 + calls
}
