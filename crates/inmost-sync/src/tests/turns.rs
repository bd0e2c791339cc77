//! Schedules in which one device works at a time, and all synchronise before another one does. Whatever fails meanwhile, all devices
//! must then show what that one shows: nothing that was removed comes back, and nothing is merged, copied or repeated.

use super::simulator::World;

/// The failure of a schedule; `None` if it holds.
pub(super) fn failure(seed: u64) -> Option<String> {
    let mut world = World::new(seed);
    world.places[0].0.borrow_mut().is_delayed = true;
    for step in 0..12 {
        world.make_quiet(0);
        if world.rng.is_one_in(2) {
            let device = world.rng.below(world.devices());
            world.back_up(device);
        }
        let device = world.rng.below(world.devices());
        for _ in 0..=world.rng.below(3) {
            world.act(device);
            if world.rng.is_one_in(2) {
                world.crash(device);
            }
            if world.rng.is_one_in(4) {
                world.sync_without_place(device, true, false);
            }
        }
        let expected = world.tree(device);
        // The backup of one that has nothing to lose is put back.
        let other = world.rng.below(world.devices());
        match world.rng.below(6) {
            0 | 1 if other != device => world.put_back(other),
            2 => {
                world.sync(device, false).unwrap();
                world.lose(device);
            }
            3 => {
                world.sync(device, false).unwrap();
                world.see(other);
                world.crash(other);
            }
            _ => {}
        }
        world.make_quiet(device);
        for other in 0..world.devices() {
            let tree = world.tree(other);
            if tree != expected {
                return Some(format!("step {step}, device {other}: {tree:?} for {expected:?}"));
            }
        }
    }
    None
}
