//! `inmost search`.

use serde_json::Value;

use crate::inmost::{Ended, Place};

fn search(place: &Place, args: &[&str]) -> Ended {
    place.run([&["search"], args].concat(), "")
}

#[test]
fn the_best_files_come_first_with_their_lines() {
    let place = Place::with_files(&[
        ("/memories/long.md", "tea\nand much else that has nothing to do with it\nat all\n"),
        ("/memories/people/ada.md", "Ada\ndrinks teas, and coffees\n"),
        ("/memories/rest", "nothing\n"),
        ("/memories/viaje.md", "Reservé un café en la estación\n"),
    ]);
    let found = search(&place, &["coffee", "or", "tea"]).expect(0).out;
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("/memories/people/ada.md  "), "{found}");
    assert_eq!(lines[1], "     2\tdrinks teas, and coffees");
    assert!(lines[2].starts_with("/memories/long.md  "), "{found}");
    assert_eq!(lines[3..], ["     1\ttea"]);
    let found = search(&place, &["--json", "-n", "1", "ESTACION", "cafe"]).expect(0).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["path"], "/memories/viaje.md");
    assert_eq!(found["lines"][0]["line"], 1);
    assert!(found["score"].as_f64().unwrap() > 0.0 && found["modified"].is_u64());
    let second = search(&place, &["--skip", "1", "coffee tea"]).expect(0).out;
    assert!(second.starts_with("/memories/long.md  "), "{second}");
    assert_eq!(search(&place, &["--in", "people", "tea"]).expect(0).out.lines().count(), 2);
}

#[test]
fn nothing_found_and_nothing_to_find_are_told_apart() {
    let place = Place::with_files(&[("/memories/a", "tea\n")]);
    for args in [&["zebra"][..], &["--since", "2100-01-01", "tea"]] {
        let ended = search(&place, args);
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(1), "", ""));
    }
    let refused = search(&place, &["?!"]).expect(2);
    assert!(refused.err.contains("There is no word to search for."), "{refused:?}");
    let missing = search(&place, &["--in", "none", "tea"]).expect(19);
    assert!(missing.err.contains("/memories/none"), "{missing:?}");
}

#[test]
fn a_key_daemon_searches_as_well() {
    let place = Place::with_files(&[("/memories/a", "tea\n"), ("/memories/b", "coffee\n")]);
    let alone = search(&place, &["--json", "tea"]).expect(0).out;
    place.run(["unlock"], "").expect(0);
    assert_eq!(search(&place, &["--json", "tea"]).expect(0).out, alone);
    place.run(["lock"], "").expect(0);
}
