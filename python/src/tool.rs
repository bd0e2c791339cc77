//! The classes `inmost.MemoryTool` and `inmost.ToolResult`.

use std::sync::Arc;

use inmost::{ToolOptions, ToolReply, Wiped};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};

use crate::errors;
use crate::json;
use crate::options;
use crate::shared::Shared;

/// Claude's memory tool on a store. Threads can share it.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct MemoryTool {
    shared: Arc<Shared>,
    options: ToolOptions,
}

/// What the model reads, and why the store failed if it did.
#[pyclass(frozen, module = "inmost")]
pub(crate) struct ToolResult {
    result: inmost::ToolResult,
    /// An instance of `inmost.StoreError`.
    store_error: Option<Py<PyAny>>,
}

impl MemoryTool {
    pub(crate) fn new(shared: Arc<Shared>, options: ToolOptions) -> Self {
        Self { shared, options }
    }

    /// The tool for one call.
    fn tool(&self) -> inmost::MemoryTool {
        self.shared.handle().tool(self.options.clone())
    }

    fn run(&self, py: Python<'_>, json: &[u8]) -> PyResult<ToolResult> {
        self.shared.refuse_in_progress()?;
        Ok(ToolResult::new(py, py.detach(|| self.tool().run_json(json))))
    }
}

#[pymethods]
impl MemoryTool {
    /// Runs a call: the `input` of a `tool_use` block or the whole block, as a dict, as an SDK has it, or as JSON.
    fn call(&self, py: Python<'_>, call: &Bound<'_, PyAny>) -> PyResult<ToolResult> {
        if let Ok(json) = call.cast::<PyString>() {
            // A lone surrogate has no encoding in UTF-8. As it is passed on here, the tool answers that the JSON is not valid.
            let json = json.call_method1("encode", ("utf-8", "surrogatepass"))?;
            return self.run(py, json.cast::<PyBytes>()?.as_bytes());
        }
        if let Ok(json) = call.cast::<PyBytes>() {
            return self.run(py, json.as_bytes());
        }
        if let Ok(json) = call.cast::<PyByteArray>() {
            return self.run(py, &Wiped::new(json.to_vec()));
        }
        if let Some(json) = call.cast_exact::<PyDict>().ok().and_then(json::of_dict) {
            return self.run(py, &json);
        }
        if let Some(dump) = call.getattr_opt("model_dump")? {
            // A block of an SDK.
            return self.call(py, dump.call0()?.cast::<PyDict>()?);
        }
        if !call.is_instance_of::<PyDict>() {
            return Err(PyTypeError::new_err(
                "a call is a dict, a block of an SDK, or JSON as str or bytes",
            ));
        }
        let json = py.import("json")?.getattr("dumps")?.call1((call,))?;
        self.run(py, json.cast::<PyString>()?.to_str()?.as_bytes())
    }

    /// Deletes everything that the model can see, and hidden files beside it.
    fn clear(&self, py: Python<'_>) -> PyResult<ToolResult> {
        self.shared.refuse_in_progress()?;
        Ok(ToolResult::new(py, py.detach(|| self.tool().clear())))
    }

    fn __reduce__(_this: &Bound<'_, Self>) -> PyResult<()> {
        options::not_picklable()
    }
}

impl ToolResult {
    fn new(py: Python<'_>, reply: ToolReply) -> Self {
        let (result, store_error) = reply.into_parts();
        let store_error = store_error.map(|error| errors::of(py, error).into_value(py).into_any());
        Self { result, store_error }
    }
}

#[pymethods]
impl ToolResult {
    /// The text for the model.
    #[getter]
    fn content(&self) -> &str {
        self.result.content()
    }

    /// Whether the result must be marked as an error.
    #[getter]
    fn is_error(&self) -> bool {
        self.result.is_error()
    }

    /// The id of the `tool_use` block, if a whole block was sent.
    #[getter]
    fn tool_use_id(&self) -> Option<&str> {
        self.result.tool_use_id()
    }

    /// Why the store failed, for the application; `None` if it did not.
    #[getter]
    fn store_error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.store_error.as_ref().map(|error| error.clone_ref(py))
    }

    /// The result as a `tool_result` block.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let block = PyDict::new(py);
        block.set_item("type", "tool_result")?;
        if let Some(id) = self.result.tool_use_id() {
            block.set_item("tool_use_id", id)?;
        }
        block.set_item("content", self.result.content())?;
        block.set_item("is_error", self.result.is_error())?;
        Ok(block)
    }

    fn __repr__(&self) -> &'static str {
        if self.result.is_error() {
            "ToolResult(is_error=True)"
        } else {
            "ToolResult(is_error=False)"
        }
    }
}
