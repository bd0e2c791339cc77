//! Goes through every state of the models of freshness, of the journal, of hosts that share a vault and of devices that share a
//! place, and fails if one of them breaks a promise. docs/PROOFS.md says what is modelled. Prints the number of states.

use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;
use std::time::Instant;

use freshness::{Action, Bounds, External, State};
use stateright::{Checker, Model, Path, Property};

mod freshness;
mod hosts;
#[allow(dead_code, reason = "a test of the journal uses the rest")]
mod journal;
mod sync;

struct Freshness(Bounds);

impl Model for Freshness {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(&self.0)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend(state.actions(&self.0));
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = state.next(&self.0, &action);
        // An attack that is refused leads to nothing that another attack would not.
        let is_refused = matches!(action, Action::Attack { .. }) && next.session.is_none();
        (!is_refused || next.violation.is_some()).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |_, state: &State| state.violation.is_none())]
    }
}

const PROMISES: &str = "every promise is kept";

const BASE: Bounds = Bounds {
    roots: 5,
    sessions: 3,
    headers: 1,
    attacks: 1,
    power_cuts: 1,
    sync_every: 2,
    external: External::Never,
    single_slots: false,
    checkpoints: true,
};

fn models() -> [(&'static str, Bounds); 9] {
    let without = Bounds { power_cuts: 0, checkpoints: false, ..BASE };
    [
        ("no attacker", Bounds { sessions: 4, headers: 2, attacks: 0, power_cuts: 2, ..BASE }),
        ("files put back", Bounds { power_cuts: 0, ..BASE }),
        ("files put back, after a power cut", Bounds { checkpoints: false, ..BASE }),
        ("single slots put back", Bounds { roots: 6, single_slots: true, ..without }),
        ("with changes of the header", Bounds { roots: 7, headers: 3, ..without }),
        ("with one and a power cut", Bounds { roots: 6, headers: 2, power_cuts: 1, ..without }),
        ("two attacks", Bounds { sessions: 4, attacks: 2, ..without }),
        ("with an anchor elsewhere", Bounds { roots: 4, external: External::Always, ..BASE }),
        ("now and then with one", Bounds { roots: 4, external: External::Sometimes, ..BASE }),
    ]
}

struct Journal(journal::Bounds);

impl Model for Journal {
    type State = journal::State;
    type Action = journal::Action;

    fn init_states(&self) -> Vec<journal::State> {
        vec![journal::State::new()]
    }

    fn actions(&self, state: &journal::State, actions: &mut Vec<journal::Action>) {
        actions.extend(state.actions(&self.0));
    }

    fn next_state(
        &self,
        state: &journal::State,
        action: journal::Action,
    ) -> Option<journal::State> {
        Some(state.next(&self.0, &action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |_, state: &journal::State| state.violation.is_none())]
    }
}

fn journals() -> [(&'static str, journal::Bounds); 3] {
    let base =
        journal::Bounds { commits: 4, longest: 1, ends: 2, faults: 2, bypasses: 0, without: None };
    [
        ("a journal", base),
        ("a journal that is bypassed", journal::Bounds { commits: 3, bypasses: 1, ..base }),
        (
            "a journal with long entries",
            journal::Bounds { commits: 3, longest: 2, faults: 1, ..base },
        ),
    ]
}

struct Hosts(hosts::Bounds);

impl Model for Hosts {
    type State = hosts::State;
    type Action = hosts::Action;

    fn init_states(&self) -> Vec<hosts::State> {
        vec![hosts::State::new(&self.0)]
    }

    fn actions(&self, state: &hosts::State, actions: &mut Vec<hosts::Action>) {
        actions.extend(state.actions(&self.0));
    }

    fn next_state(&self, state: &hosts::State, action: hosts::Action) -> Option<hosts::State> {
        Some(state.next(&self.0, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |_, state: &hosts::State| state.violation().is_none())]
    }
}

fn vaults() -> [(&'static str, hosts::Bounds); 2] {
    let base = hosts::Bounds { hosts: 2, calls: 2, faults: 1, reach: 1, kept: 1, without: None };
    [("two hosts", base), ("three hosts", hosts::Bounds { hosts: 3, calls: 1, faults: 2, ..base })]
}

struct Circle(sync::Bounds);

impl Model for Circle {
    type State = sync::State;
    type Action = sync::Action;

    fn init_states(&self) -> Vec<sync::State> {
        vec![sync::State::new(&self.0)]
    }

    fn actions(&self, state: &sync::State, actions: &mut Vec<sync::Action>) {
        actions.extend(state.actions(&self.0));
    }

    fn next_state(&self, state: &sync::State, action: sync::Action) -> Option<sync::State> {
        Some(state.next(&self.0, &action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |model: &Self, state: &sync::State| {
            state.violation(&model.0).is_none()
        })]
    }
}

const DEVICES: sync::Bounds =
    sync::Bounds { devices: 3, operations: 4, snapshots: 0, copies: 0, restores: 0, without: None };

fn circles() -> [(&'static str, sync::Bounds); 4] {
    let two = sync::Bounds { devices: 2, operations: 2, ..DEVICES };
    [
        ("three devices", DEVICES),
        ("three devices, a snapshot", sync::Bounds { operations: 2, snapshots: 1, ..DEVICES }),
        ("a device put back", sync::Bounds { snapshots: 1, restores: 1, ..two }),
        ("a device copied", sync::Bounds { operations: 2, snapshots: 1, copies: 1, ..DEVICES }),
    ]
}

/// Goes through the states of a model, and returns the path to one that breaks a promise.
fn check<M>(name: &str, model: M) -> Option<Path<M::State, M::Action>>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Hash + Debug + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let start = Instant::now();
    let checker = model.checker().threads(2).spawn_bfs().join();
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    println!("{name}: {states} states, {steps} steps, {} s", start.elapsed().as_secs());
    checker.discovery(PROMISES)
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, bounds) in models() {
        if let Some(path) = check(name, Freshness(bounds)) {
            println!("violated: {:?}", path.last_state().violation);
            for (state, action) in path.into_vec() {
                println!("{:?}\nfound {:?}\n{action:?}", state.files, state.outcome);
            }
            code = ExitCode::FAILURE;
        }
    }
    for (name, bounds) in journals() {
        if let Some(path) = check(name, Journal(bounds)) {
            println!("violated: {:?}\n{path}", path.last_state().violation);
            code = ExitCode::FAILURE;
        }
    }
    // A model that cannot fail shows nothing.
    for rule in journal::RULES {
        let is_needed = |(name, bounds): (&str, journal::Bounds)| {
            let bounds = journal::Bounds { without: Some(rule), ..bounds };
            check(&format!("{name}, without {rule:?}"), Journal(bounds)).is_some()
        };
        if !journals().into_iter().any(is_needed) {
            println!("nothing is violated without {rule:?}");
            code = ExitCode::FAILURE;
        }
    }
    for (name, bounds) in vaults() {
        if let Some(path) = check(name, Hosts(bounds)) {
            println!("violated: {:?}\n{path}", path.last_state().violation());
            code = ExitCode::FAILURE;
        }
    }
    for rule in hosts::RULES {
        let is_needed = |(name, bounds): (&str, hosts::Bounds)| {
            let bounds = hosts::Bounds { without: Some(rule), ..bounds };
            check(&format!("{name}, without {rule:?}"), Hosts(bounds)).is_some()
        };
        if !vaults().into_iter().any(is_needed) {
            println!("nothing is violated without {rule:?}");
            code = ExitCode::FAILURE;
        }
    }
    for (name, bounds) in circles() {
        if let Some(path) = check(name, Circle(bounds)) {
            println!("violated: {:?}\n{path}", path.last_state().violation(&bounds));
            code = ExitCode::FAILURE;
        }
    }
    for rule in sync::RULES {
        let is_needed = |(name, bounds): (&str, sync::Bounds)| {
            let bounds = sync::Bounds { operations: 2, without: Some(rule), ..bounds };
            check(&format!("{name}, without {rule:?}"), Circle(bounds)).is_some()
        };
        if !circles().into_iter().any(is_needed) {
            println!("nothing is violated without {rule:?}");
            code = ExitCode::FAILURE;
        }
    }
    code
}
