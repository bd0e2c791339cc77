//! Calls as JSON, without the detour through Python's `json`.

use std::io::{self, Write};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};
use zeroize::Zeroizing;

/// The JSON of a dict of texts, whole numbers, booleans, `None`, lists and such dicts. Returns `None` if there is anything else in
/// it, for which `json.dumps` knows the rules.
pub(crate) fn of_dict(dict: &Bound<'_, PyDict>) -> Option<Zeroizing<Vec<u8>>> {
    let mut json = Json(Zeroizing::new(Vec::with_capacity(CAPACITY)));
    write_dict(&mut json, dict, DEPTH)?;
    Some(json.0)
}

/// JSON that is wiped, also in the smaller buffers that it grows out of.
struct Json(Zeroizing<Vec<u8>>);

impl Write for Json {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let needed = self.0.len().saturating_add(bytes.len());
        if needed > self.0.capacity() {
            let capacity = needed.max(self.0.capacity().saturating_mul(2));
            let mut larger = Zeroizing::new(Vec::with_capacity(capacity));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_dict(json: &mut Json, dict: &Bound<'_, PyDict>, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for (index, (key, value)) in dict.iter().enumerate() {
        json.write_all(if index == 0 { b"{" } else { b"," }).ok()?;
        write_text(json, &key)?;
        json.write_all(b":").ok()?;
        write_value(json, &value, depth)?;
    }
    json.write_all(if dict.is_empty() { b"{}" } else { b"}" }).ok()
}

fn write_list(json: &mut Json, list: &Bound<'_, PyList>, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    json.write_all(b"[").ok()?;
    for (index, value) in list.iter().enumerate() {
        if index > 0 {
            json.write_all(b",").ok()?;
        }
        write_value(json, &value, depth)?;
    }
    json.write_all(b"]").ok()
}

fn write_value(json: &mut Json, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
    if value.is_exact_instance_of::<PyString>() {
        write_text(json, value)
    } else if value.is_none() {
        json.write_all(b"null").ok()
    } else if let Ok(truth) = value.cast_exact::<PyBool>() {
        serde_json::to_writer(json, &truth.is_true()).ok()
    } else if value.is_exact_instance_of::<PyInt>() {
        serde_json::to_writer(json, &value.extract::<i64>().ok()?).ok()
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        write_list(json, list, depth)
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        write_dict(json, dict, depth)
    } else {
        None
    }
}

/// Writes a text. One with a lone surrogate has no UTF-8.
fn write_text(json: &mut Json, text: &Bound<'_, PyAny>) -> Option<()> {
    let text = text.cast_exact::<PyString>().ok()?.to_str().ok()?;
    serde_json::to_writer(json, text).ok()
}

/// Bytes of most calls.
const CAPACITY: usize = 4 << 10;
/// Dicts and lists in each other. A call has two levels, a whole block three.
const DEPTH: usize = 8;
