//! Tests of undoing changes around folders, each with the fewest changes that show what must hold.

use super::undo_model::{Scenario, undo_of_a, undo_of_all};

fn scenario([before, after]: [&[&str]; 2]) -> Scenario {
    [before, after].map(|lines| lines.iter().map(|&line| line.to_owned()).collect())
}

/// Undoes the second part of each scenario, and undoes that.
fn check_all(scenarios: &[[&[&str]; 2]]) {
    for lines in scenarios {
        undo_of_all(&scenario(*lines)).unwrap_or_else(|error| panic!("{lines:?}: {error}"));
    }
}

fn check_of_a(scenarios: &[[&[&str]; 2]]) {
    for lines in scenarios {
        undo_of_a(&scenario(*lines)).unwrap_or_else(|error| panic!("{lines:?}: {error}"));
    }
}

#[test]
fn files_go_back_with_the_folders_that_were_moved_and_deleted_around_them() {
    check_all(&[
        [&["a write e/b 1", "a write e/c 1"], &["a write e/b 2", "a mv e f", "a write f/b 3"]],
        [&["a write e/b 1", "a write e/c 1"], &["a write e/b 2", "a mv e f", "a mv f/b g"]],
        [&["a write e/b 1", "a write e/c 1"], &["a write e/b 2", "a mv e f", "a mv f/b f/x"]],
        [&["a write e/b 1", "a write e/c 1"], &["a write e/b 2", "a mv e f", "a rm f/b"]],
        [
            &["a write c/b 1", "a write c/e 1"],
            &["a mv c/e x", "a write c/b 2", "a rm c", "a write x 3"],
        ],
        [
            &["a write c/b 1", "a write c/e 1"],
            &["a mv c/e x", "a write c/b 2", "a mv c d", "a write x 3"],
        ],
        [&["a write d/c 1"], &["a mv d/c t", "a mv t d"]],
        [&["a write d 1"], &["a mv d t", "a mv t d/c"]],
        [&["a write e/b 1", "a write e/c 1"], &["a mv e/b x", "a rm e", "a mv x e"]],
        [&["a write z 1"], &["a write d/e 1", "a mv d c", "a rm c/e"]],
    ]);
}

/// The folder was deleted last, with the file that had gone back to its place before.
#[test]
fn a_folder_that_is_deleted_again_takes_no_file_along_that_comes_to_its_place() {
    check_all(&[
        [&[], &["a write r/s 3", "a rm r", "b write r/r 20"]],
        [&[], &["a write s/s 7", "b rm s", "b write s/p/q 16"]],
        [&["b write s/q/s 0"], &["a rm s", "a write s/s/p 16"]],
        [&["b write q/r/q 1", "b rm q/r", "b write q/r/s 5"], &["a undo b"]],
        [&["a write p/q 0"], &["a rm p", "b write s/p/s 15", "a mv s q", "a mv q/p/s p/p/p"]],
    ]);
}

#[test]
fn folders_that_came_back_to_one_place_in_turn_are_deleted_again() {
    check_all(&[
        [&["b write s/p 2"], &["a rm s", "b write s/p 13", "a rm s"]],
        [&["b write r/p/r 1"], &["b rm r/p", "b back 0 r/p/r", "b rm r"]],
    ]);
}

/// A deletion that was undone counted as undone, wherever the folder had come back.
#[test]
fn a_folder_that_was_brought_back_to_another_place_returns_to_its_own() {
    check_all(&[
        [&["b write s/p/r 4"], &["a rm s/p", "b back 1 p/s/s"]],
        [&["b write s/p/r 4"], &["a rm s/p", "b back 1 q", "a write q/r 5"]],
        // Nothing is left of it when it would be deleted again.
        [&[], &["a write s/p/r 4", "a rm s/p", "b back 1 q", "a write q/r 5"]],
    ]);
}

#[test]
fn a_folder_that_came_back_after_its_place_was_used_makes_room_for_what_was_there() {
    check_all(&[
        [&["a write x/d/f 1"], &["a rm x/d", "b mv x y", "b back 1 x/d"]],
        [&["a write d/f 1"], &["a rm d", "b write d/g 2", "b rm d", "b back 1"]],
        [&["a write d/f 1"], &["a rm d", "b write d 2", "b rm d", "b back 1"]],
    ]);
}

/// The changes of a file were one step, which came before or after the change of a folder between them.
#[test]
fn a_file_that_moves_before_and_after_a_folder_goes_back_around_it() {
    check_all(&[
        [&["b write p/q 0"], &["a write s/s/p 17", "a rm s", "a mv p/q s/p"]],
        [
            &["b write d/f 1", "b write r/g 2", "b rm r"],
            &["a mv d/f t", "a back 2 d", "a mv t d/f"],
        ],
        [&["a write q/s 0"], &["a mv q/s s/r/s", "b mv s/r q", "a rm q/s"]],
        [&["b write r 0"], &["a mv r p/q/s", "b mv p s", "a rm s/q/s", "a back 1"]],
        // The folder has taken the file back to the path that it had before.
        [&["b write q/f 1", "b write p/g 2"], &["a mv q/f p/f", "a mv p q", "a write q/f 3"]],
    ]);
}

/// The restored folder is deleted and moved back in the undo, and the file in it is in its own way then.
#[test]
fn a_file_leaves_a_folder_that_moved_back_to_take_its_place() {
    let after = ["b rm q", "b back 0 q/q/p", "a rm q/q", "a back 3 p/q", "b write p/q/p 19"];
    check_all(&[[&["a write q 4"], &after]]);
}

/// A step of a folder was made on the folder that somebody else had made at its place.
#[test]
fn a_folder_in_the_place_of_one_that_could_not_go_back_stays() {
    check_of_a(&[
        [&["b write p/r 0"], &["b mv p q", "b rm q", "a undo b", "b write q/q 15"]],
        [&["b write q/p 2", "b rm q"], &["a back 1", "a mv q p", "b write q/p 3"]],
        [&["b write p/f 1"], &["a mv p q", "a mv q r", "b write q/g 2"]],
    ]);
}

/// The undo moved the folder with the other's file back into the one that it then deleted.
#[test]
fn a_folder_stays_if_others_use_what_was_moved_out_of_it() {
    check_of_a(&[
        [&["b write s/s 1", "b mv s p/p/r"], &["b rm p/p", "b back 0", "a undo b", "b back 3"]],
        [&["b write p/q/f 1", "b rm p"], &["a back 1", "a mv p/q s", "b write s/g 2"]],
        [&["b write p/q/f 1", "b rm p"], &["a back 1", "a mv p/q s", "a mv s t", "b write t/g 2"]],
        // Nothing is left of the folder that was moved, and another one has its place.
        [&[], &["a write d/f 1", "b rm d", "a back 1", "a mv d s", "b write d/g 2"]],
        [&["b write d/f 1", "b rm d", "a back 1"], &["a mv d/f d/g", "a mv d s", "b back 3"]],
        // A file was exchanged into a folder that was then deleted.
        [
            &[
                "b write d/g 0",
                "b rm d",
                "b write d/a 1",
                "b write d/f 2",
                "b write q/o 3",
                "b write p/x 4",
            ],
            &[
                "a mv d/a q/x",
                "b mv q r",
                "b mv p q",
                "a rm d",
                "a back 1",
                "a mv q/x d/a",
                "b mv r q",
            ],
        ],
    ]);
}

/// Two folders are in each other's places, and a file goes to a path in one of them: there, it was in the way of the folder.
#[test]
fn a_file_comes_back_after_the_folder_that_it_goes_into() {
    let lines = [
        "b write p 15",
        "b mv p s/s",
        "a write s/p/q 19",
        "b rm p/s",
        "a mv s p/r",
        "b write p/r/p/q 25",
        "a rm p/r/p/q",
        "a undo a",
        "a back 3",
        "b back 5",
    ];
    check_of_a(&[[&[], &lines]]);
}

/// The folders were moved in one commit. The history, read as one move after the other, said that one had the files of both, and an undo
/// of the undo moved the wrong one or left it.
#[test]
fn folders_that_are_in_each_others_places_stay() {
    check_of_a(&[
        [
            &["b write s/p 5", "a mv s r"],
            &["a rm r/p", "b write r/p/p 18", "a mv r/p s/q/s", "b back 3"],
        ],
        [
            &["b write r/q 4"],
            &["b mv r q/s", "a undo b", "a write r/s 10", "a undo a", "b back 3", "a mv q/s/q s"],
        ],
    ]);
}
