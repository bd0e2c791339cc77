//! Calls as JSON, without the detour through Python's `json`.

use std::io::Write;

use inmost::Wiped;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

/// The JSON of a dict of texts, whole numbers, booleans, `None`, lists and such dicts. Returns `None` if there is anything else in
/// it, for which `json.dumps` knows the rules.
pub(crate) fn of_dict(dict: &Bound<'_, PyDict>) -> Option<Wiped<Vec<u8>>> {
    let mut json = Wiped::new(Vec::with_capacity(CAPACITY));
    write_dict(&mut json, dict, DEPTH)?;
    Some(json)
}

fn write_dict(json: &mut Wiped<Vec<u8>>, dict: &Bound<'_, PyDict>, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for (index, (key, value)) in dict.iter().enumerate() {
        json.write_all(if index == 0 { b"{" } else { b"," }).ok()?;
        write_text(json, &key)?;
        json.write_all(b":").ok()?;
        write_value(json, &value, depth)?;
    }
    json.write_all(if dict.is_empty() { b"{}" } else { b"}" }).ok()
}

fn write_list(json: &mut Wiped<Vec<u8>>, list: &Bound<'_, PyList>, depth: usize) -> Option<()> {
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

fn write_value(json: &mut Wiped<Vec<u8>>, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
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
fn write_text(json: &mut Wiped<Vec<u8>>, text: &Bound<'_, PyAny>) -> Option<()> {
    let text = text.cast_exact::<PyString>().ok()?.to_str().ok()?;
    serde_json::to_writer(json, text).ok()
}

/// Bytes of most calls.
const CAPACITY: usize = 1 << 10;
/// Dicts and lists in each other. A call has two levels, a whole block three.
const DEPTH: usize = 8;
