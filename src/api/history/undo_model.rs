//! Random changes by two actors and their undo, against the tree as it was before them.
//!
//! A scenario is a list of lines, such as `a mv d/f e`: the actor, the change, and paths below the root folder. `a back 3` brings
//! back the version that line 3 made, counted from 0, and `a undo b` undoes all that b has done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::tests::all_done;
use super::*;
use crate::session::Session;
use crate::vfs::tests::model::{of_days, set_day};
use inmost_format::record::plain::Random;
use inmost_testing::seeds;

/// The paths of the files and their texts.
type Tree = BTreeMap<String, String>;

/// The lines before the changes to undo, and those changes.
pub(super) type Scenario = [Vec<String>; 2];

fn tree(session: &Session) -> Tree {
    fn walk(session: &Session, folder: &str, tree: &mut Tree) {
        for entry in session.files().list(folder).unwrap() {
            let path = format!("{folder}/{}", entry.name);
            if entry.metadata.is_folder() {
                walk(session, &path, tree);
            } else {
                let text = session.files().read(&path).unwrap().into_string();
                tree.insert(path, text);
            }
        }
    }
    let mut tree = Tree::new();
    walk(session, "/memories", &mut tree);
    tree
}

/// A store to which lines are applied.
struct Store {
    session: Session,
    /// The newest change after each line.
    numbers: Vec<u64>,
}

/// What an undo has done.
struct Outcome {
    plan: UndoPlan,
    undone: Vec<Undone>,
}

impl Outcome {
    fn check_all_done(&self) -> Result<(), String> {
        let Self { plan, undone } = self;
        if plan.left.is_empty() && plan.gone.is_empty() && all_done(undone) {
            return Ok(());
        }
        Err(format!("{undone:?}, left {:?}, gone {:?}", plan.left, plan.gone))
    }
}

impl Store {
    fn new() -> Self {
        set_day(0);
        let session = Session::in_memory().unwrap();
        session.history().set(HistorySettings::keep(of_days(30))).unwrap();
        Self { session, numbers: Vec::new() }
    }

    /// Makes the changes of a scenario, on one day each. Returns the trees after them.
    fn make_all(&mut self, scenario: &Scenario) -> Result<[Tree; 2], String> {
        let mut trees = [Tree::new(), Tree::new()];
        for ((day, lines), tree_then) in (0..).zip(scenario).zip(&mut trees) {
            set_day(day);
            lines.iter().try_for_each(|line| self.make(line))?;
            *tree_then = tree(&self.session);
        }
        Ok(trees)
    }

    /// Makes the change of a line, which may be refused.
    fn make(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(' ').collect();
        let session = self.session.acting_as(words[0]);
        let (files, history) = (session.files(), session.history());
        let path = |word: &str| format!("/memories/{word}");
        let number = |word: &str| self.numbers[word.parse::<usize>().unwrap()];
        let result = match words[1..] {
            ["write", file, text] => files.write(&path(file), text),
            ["mv", old, new] => files.rename(&path(old), &path(new)),
            ["rm", gone] => files.remove(&path(gone)),
            ["back", line] => history.restore(number(line), None).map(drop),
            ["back", line, to] => history.restore(number(line), Some(&path(to))).map(drop),
            ["undo", actor] => history
                .plan_undo(&VersionQuery::all().actor(actor))
                .and_then(|plan| Ok(history.undo(&plan, |_| {}).map(drop)?)),
            _ => panic!("{line}"),
        };
        self.numbers.push(self.newest().map_or(0, |newest| newest.number));
        match result {
            Err(FileError::Store(error)) => Err(format!("{line}: {error}")),
            _ => Ok(()),
        }
    }

    fn newest(&self) -> Option<VersionInfo> {
        self.session.history().page(&VersionQuery::all(), None, 1).unwrap().items.pop()
    }

    /// Undoes what a query lists, as the actor c, and checks that the plan is what is done.
    fn undo(&self, query: &VersionQuery) -> Result<Outcome, String> {
        let session = self.session.acting_as("c");
        let history = session.history();
        let before = (tree(&session), self.newest());
        let plan = history.plan_undo(query).map_err(|error| error.to_string())?;
        let again = history.plan_undo(query).map_err(|error| error.to_string())?;
        if (tree(&session), self.newest()) != before {
            return Err("A plan has changed something.".to_owned());
        }
        if again.steps != plan.steps || again.left != plan.left || again.gone != plan.gone {
            return Err("A second plan differs.".to_owned());
        }
        let undone = history.undo(&plan, |_| {}).map_err(|error| error.to_string())?;
        let report = session.check().unwrap();
        if !report.is_clean() || report.orphans > 0 {
            return Err(format!("{report:?}"));
        }
        self.check_steps(&plan, &undone)?;
        Ok(Outcome { plan, undone })
    }

    /// Checks that each file is as the last of its steps says, or in a folder that was deleted again after it.
    fn check_steps(&self, plan: &UndoPlan, undone: &[Undone]) -> Result<(), String> {
        let files = self.files();
        let steps = plan.steps.iter().zip(undone).enumerate();
        let last: BTreeMap<_, _> = steps.map(|it| (it.1.0.newest.file, it)).collect();
        for (file, (index, (step, undone))) in last {
            let (Some(file), Undone::Done(_)) = (file, undone) else { continue };
            let text = step.to.map(|to| self.session.history().text(to).unwrap().into_string());
            let found = files.get(&file).map(|(_, text)| text);
            let may_be_gone = plan.steps[index..].iter().any(UndoStep::deletes_a_folder);
            if found != text.as_ref() && (found.is_some() || !may_be_gone) {
                return Err(format!("File {file} has the text {found:?} instead of {text:?}."));
            }
        }
        Ok(())
    }

    /// The files by their numbers, with their paths and texts.
    fn files(&self) -> BTreeMap<u64, (String, String)> {
        let (files, history) = (self.session.files(), self.session.history());
        let with_numbers = tree(&self.session).into_iter().map(|(path, text)| {
            let version = files.version(&path).unwrap().unwrap().version;
            let entry = history.page(&VersionQuery::all(), Some(version + 1), 1).unwrap().items;
            (entry[0].file.unwrap(), (path, text))
        });
        with_numbers.collect()
    }

    /// Undoes the undo.
    fn undo_again(&self, expected: &Tree) -> Result<(), String> {
        let query = VersionQuery::all().actor("c");
        self.undo(&query)?.check_all_done()?;
        self.check_tree(expected)
    }

    fn check_tree(&self, expected: &Tree) -> Result<(), String> {
        let found = tree(&self.session);
        if found == *expected {
            return Ok(());
        }
        Err(format!("{found:?} instead of {expected:?}"))
    }
}

/// Undoes the second part of a scenario, by both actors, and then undoes that.
pub(super) fn undo_of_all(scenario: &Scenario) -> Result<(), String> {
    let mut store = Store::new();
    let [before, after] = store.make_all(scenario)?;
    let noon = SystemTime::UNIX_EPOCH + of_days(20_701);
    let outcome = store.undo(&VersionQuery::all().since(noon))?;
    outcome.check_all_done()?;
    store.check_tree(&before)?;
    store.undo_again(&after).map_err(|error| format!("again: {error}"))
}

/// Undoes what a did, and then undoes that.
pub(super) fn undo_of_a(scenario: &Scenario) -> Result<(), String> {
    let mut store = Store::new();
    let [_, after] = store.make_all(scenario)?;
    let before = store.files();
    let history = store.session.history();
    let changes = history.page(&VersionQuery::all(), None, 10_000).unwrap().items;
    let outcome = store.undo(&VersionQuery::all().actor("a"))?;
    let now = store.files();
    let steps = outcome.plan.steps.iter();
    let own: BTreeSet<u64> = steps.clone().filter_map(|step| step.newest.file).collect();
    let moves_folders = steps.clone().any(|step| step.newest.file.is_none());
    for (file, there) in before.iter().filter(|(file, _)| !own.contains(file)) {
        let newest = changes.iter().find(|change| change.file == Some(*file)).unwrap();
        let deleted =
            steps.clone().any(|step| step.deletes_a_folder() && step.newest.number > newest.number);
        let is_same = now.get(file).map_or(deleted, |(path, text)| {
            *text == there.1 && (*path == there.0 || moves_folders)
        });
        if !is_same {
            return Err(format!("{there:?}, which a has not changed, is {:?} now", now.get(file)));
        }
    }
    store.undo_again(&after).map_err(|error| format!("again: {error}"))
}

/// A path that exists, or a folder of one, or any path of few names.
fn path(session: &Session, random: &mut Random) -> String {
    let paths: Vec<String> = tree(session).into_keys().collect();
    if !paths.is_empty() && random.below(10) < 7 {
        let names: Vec<&str> = paths[random.below(paths.len())].split('/').skip(2).collect();
        // Often the whole path.
        let depth = 1 + random.below(names.len() + 1);
        return names[..depth.min(names.len())].join("/");
    }
    let names: Vec<&str> =
        (0..=random.below(3)).map(|_| ["p", "q", "r", "s"][random.below(4)]).collect();
    names.join("/")
}

fn random_line(store: &Store, random: &mut Random) -> String {
    let actors = ["a", "b"];
    let (one, other) = (path(&store.session, random), path(&store.session, random));
    let actor = actors[random.below(2)];
    let made = store.numbers.len();
    match random.below(40) {
        0..=11 => format!("{actor} write {one} {made}"),
        12..=23 => format!("{actor} mv {one} {other}"),
        24..=30 => format!("{actor} rm {one}"),
        31..=36 if made > 0 => format!("{actor} back {}", random.below(made)),
        37..=38 if made > 0 => format!("{actor} back {} {other}", random.below(made)),
        _ => format!("{actor} undo {}", actors[random.below(2)]),
    }
}

fn random_scenario(seed: u64) -> Result<Scenario, String> {
    let mut random = Random(seed);
    let mut store = Store::new();
    let mut scenario = Scenario::default();
    for (lines, most) in scenario.iter_mut().zip([10, 25]) {
        for _ in 0..=random.below(most) {
            let line = random_line(&store, &mut random);
            store.make(&line).map_err(|error| format!("{lines:?} {error}"))?;
            lines.push(line);
        }
    }
    Ok(scenario)
}

/// A scenario without a line, and without those that refer to it.
fn without(scenario: &Scenario, line: usize) -> Scenario {
    let (mut gone, mut index) = (vec![line], 0);
    scenario.clone().map(|lines| {
        let mut kept = Vec::new();
        for line in lines {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            if words[1] == "back" {
                let to = words[2].parse().unwrap();
                if gone.contains(&to) {
                    gone.push(index);
                }
                words[2] = (to - gone.iter().filter(|it| **it < to).count()).to_string();
            }
            if !gone.contains(&index) {
                kept.push(words.join(" "));
            }
            index += 1;
        }
        kept
    })
}

/// Checks the scenario of each seed. Of one that fails, leaves lines out while it still fails.
fn check_seeds(check: fn(&Scenario) -> Result<(), String>) {
    let mut failures = Vec::new();
    for seed in seeds(0..400) {
        let mut scenario = random_scenario(seed).unwrap();
        let Err(mut error) = check(&scenario) else { continue };
        let mut line = 0;
        while line < scenario[0].len() + scenario[1].len() {
            let shorter = without(&scenario, line);
            line += 1;
            if let Err(other) = check(&shorter) {
                (scenario, error, line) = (shorter, other, 0);
            }
        }
        failures.push(format!("seed {seed}: {scenario:?}: {error}"));
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn an_undo_of_everything_since_a_time_brings_the_tree_back() {
    check_seeds(undo_of_all);
}

#[test]
fn an_undo_by_one_actor_leaves_what_only_others_changed() {
    check_seeds(undo_of_a);
}
