//! Runs one measurement and writes its rows; `run.sh` runs them all.

use std::error::Error;
use std::path::Path;

use inmost_benches::measure::{cpu, import, latency, opening, replay, space, stall, start, unlock};
use inmost_benches::results::{self, Row};
use inmost_benches::store;
use inmost_benches::trace::Trace;

const USAGE: &str = "usage:
  measure traces FOLDER FILES CALLS LONG_BYTES LONG_CALLS   writes FOLDER/mixed and FOLDER/long
  measure fill STORE FILES                                  makes a store of so many files
  measure RESULTS replay NAME TRACE WORK
  measure RESULTS latency WORK EDITS [COMMAND...]           COMMAND makes edits of a peer that is not in this program
  measure RESULTS turns PREFIX WORK EDITS
  measure RESULTS cpu NAME WORK EDITS
  measure RESULTS unlock STORE FILES TIMES
  measure RESULTS open STORE FILES TIMES WORK
  measure RESULTS stall STORE FILES ROUNDS WRITES WORK
  measure RESULTS start PROGRAM WORK TIMES
  measure RESULTS import PROGRAM WORK FILES ROUNDS [RESTIC]
  measure RESULTS written WORK SAMPLES EDITS
  measure RESULTS resident STORE FILES
  measure RESULTS vaults STORE FILES COUNT WORK             needs MALLOC_MMAP_THRESHOLD_=262144 in its environment
  measure RESULTS stored NAME STORE                         creates STORE if it does not exist";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["traces", folder, files, calls, bytes, long_calls] => {
            let folder = Path::new(folder);
            Trace::mixed(files.parse()?, calls.parse()?).write(&folder.join("mixed"))?;
            Trace::long_file(bytes.parse()?, long_calls.parse()?).write(&folder.join("long"))
        }
        ["fill", path, files] => {
            store::create_filled(Path::new(path), files.parse()?)?.lock();
            Ok(())
        }
        [results, ref measurement @ ..] => {
            let Some((name, rows)) = measured(measurement)? else {
                eprintln!("{USAGE}");
                std::process::exit(2);
            };
            results::write(Path::new(results), &name, &rows)
        }
        [] => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

/// The name of a file of results, and its rows.
type Measured = (String, Vec<Row>);

/// Makes a measurement; returns `None` if there is no such measurement.
fn measured(args: &[&str]) -> Result<Option<Measured>, Box<dyn Error>> {
    let (name, rows) = match *args {
        ["replay", name, trace, work] => {
            (name.to_owned(), replay::run(name, Path::new(trace), Path::new(work))?)
        }
        ["latency", work, edits, ref command @ ..] => {
            ("latency".into(), latency::run(Path::new(work), edits.parse()?, command)?)
        }
        ["turns", prefix, work, edits] => {
            let rows = latency::turns(prefix, Path::new(work), edits.parse()?)?;
            (format!("{prefix}turns"), rows)
        }
        ["cpu", name, work, edits] => {
            (format!("cpu-{name}"), cpu::run(name, Path::new(work), edits.parse()?)?)
        }
        ["unlock", path, files, times] => {
            let rows = unlock::run(Path::new(path), files, times.parse()?)?;
            (format!("unlock-{files}"), rows)
        }
        ["open", path, files, times, work] => {
            let work = Path::new(work);
            let rows = opening::run(Path::new(path), files.parse()?, times.parse()?, work)?;
            (format!("open-{files}"), rows)
        }
        ["stall", path, files, rounds, writes, work] => {
            let (rounds, writes) = (rounds.parse()?, writes.parse()?);
            let work = Path::new(work);
            let rows = stall::run(Path::new(path), files.parse()?, rounds, writes, work)?;
            (format!("stall-{files}"), rows)
        }
        ["start", program, work, times] => {
            ("start".into(), start::run(Path::new(program), Path::new(work), times.parse()?)?)
        }
        ["import", program, work, files, rounds, ref restic @ ..] => {
            let (files, rounds) = (files.parse()?, rounds.parse()?);
            let restic = restic.first().map(Path::new);
            let rows = import::run(Path::new(program), restic, Path::new(work), files, rounds)?;
            ("import".into(), rows)
        }
        ["written", work, samples, edits] => {
            let rows = space::written(Path::new(work), samples.parse()?, edits.parse()?)?;
            ("written".into(), rows)
        }
        ["resident", path, files] => {
            (format!("resident-{files}"), space::resident(Path::new(path), files.parse()?)?)
        }
        ["vaults", path, files, count, work] => {
            let (files, count) = (files.parse()?, count.parse()?);
            let rows = space::vaults(Path::new(path), files, count, Path::new(work))?;
            ("vaults".into(), rows)
        }
        ["stored", name, path] => (format!("stored-{name}"), space::stored(name, Path::new(path))?),
        _ => return Ok(None),
    };
    Ok(Some((name, rows)))
}
