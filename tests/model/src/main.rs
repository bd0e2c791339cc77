//! Goes through every state of the model of freshness, and fails if one of them breaks a promise. docs/PROOFS.md says what is
//! modelled. Prints the number of states.

use std::process::ExitCode;
use std::time::Instant;

use freshness::{Action, Bounds, External, State};
use stateright::{Checker, Model, Property};

mod freshness;

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

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, bounds) in models() {
        let start = Instant::now();
        let checker = Freshness(bounds).checker().threads(2).spawn_bfs().join();
        let (states, steps) = (checker.unique_state_count(), checker.state_count());
        println!("{name}: {states} states, {steps} steps, {} s", start.elapsed().as_secs());
        if let Some(path) = checker.discovery(PROMISES) {
            println!("violated: {:?}", path.last_state().violation);
            for (state, action) in path.into_vec() {
                println!("{:?}\nfound {:?}\n{action:?}", state.files, state.outcome);
            }
            code = ExitCode::FAILURE;
        }
    }
    code
}
