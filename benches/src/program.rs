//! Runs one measurement and writes its rows; `run.sh` runs them all.

use std::error::Error;
use std::path::Path;

use inmost_benches::measure::{replay, space, start, unlock};
use inmost_benches::trace::Trace;
use inmost_benches::{results, store};

const USAGE: &str = "usage:
  measure traces FOLDER FILES CALLS LONG_BYTES LONG_CALLS   writes FOLDER/mixed and FOLDER/long
  measure fill STORE FILES                                  makes a store of so many files
  measure replay NAME TRACE WORK RESULTS
  measure unlock STORE FILES TIMES RESULTS
  measure start PROGRAM WORK TIMES RESULTS
  measure written WORK SAMPLES EDITS RESULTS
  measure resident STORE FILES RESULTS
  measure vaults FOLDER COUNT RESULTS                       opens COUNT stores of 100 files at once
  measure stored NAME STORE RESULTS";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (name, rows, results) = match args[..] {
        ["traces", folder, files, calls, bytes, long_calls] => {
            let folder = Path::new(folder);
            Trace::mixed(files.parse()?, calls.parse()?).write(&folder.join("mixed"))?;
            return Trace::long_file(bytes.parse()?, long_calls.parse()?)
                .write(&folder.join("long"));
        }
        ["fill", path, files] => {
            store::create_filled(Path::new(path), files.parse()?)?.lock();
            return Ok(());
        }
        ["replay", name, trace, work, results] => {
            (name.to_owned(), replay::run(name, Path::new(trace), Path::new(work))?, results)
        }
        ["unlock", path, files, times, results] => (
            format!("unlock-{files}"),
            unlock::run(Path::new(path), files, times.parse()?)?,
            results,
        ),
        ["start", program, work, times, results] => (
            "start".into(),
            start::run(Path::new(program), Path::new(work), times.parse()?)?,
            results,
        ),
        ["written", work, samples, edits, results] => {
            let rows = space::written(Path::new(work), samples.parse()?, edits.parse()?)?;
            ("written".into(), rows, results)
        }
        ["resident", path, files, results] => (
            format!("resident-{files}"),
            space::resident(Path::new(path), files.parse()?)?,
            results,
        ),
        ["fill-vaults", folder, count] => {
            return space::fill_vaults(Path::new(folder), count.parse()?);
        }
        ["vaults", folder, count, results] => (
            format!("vaults-{count}"),
            space::vaults(Path::new(folder), count.parse()?)?,
            results,
        ),
        ["stored", name, path, results] => {
            (format!("stored-{name}"), space::stored(name, Path::new(path))?, results)
        }
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    };
    results::write(Path::new(results), &name, &rows)
}
