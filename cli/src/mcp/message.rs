//! Parses one message of JSON-RPC 2.0, or returns the error to reply with. Does no I/O.
//!
//! The arguments of a tool call stay the text that the client sent, because the tool has its own parser. The values of
//! rmcp would change numbers, refuse deep nesting and unpaired surrogates, and leave copies that are not wiped.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, GetPromptRequestParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams, RequestId,
};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;

use inmost_console::Wiped;

/// The arguments of a tool call as the client sent them: the text of a JSON object. An extension of the request.
#[derive(Clone)]
pub(super) struct Arguments(Arc<Wiped>);

impl Arguments {
    fn of(json: &str) -> Self {
        Self(Arc::new(Wiped::new(json.as_bytes().to_vec())))
    }

    pub(super) fn as_json(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Why a message is refused, as the reply to it.
#[derive(Serialize, Debug)]
pub(super) struct Refusal {
    jsonrpc: &'static str,
    /// `null` if the message has no valid id.
    id: Option<RequestId>,
    error: Fault,
}

#[derive(Serialize, Debug)]
struct Fault {
    code: ErrorCode,
    message: Cow<'static, str>,
}

impl Refusal {
    /// For a line that was skipped because of its length. Its id is unknown.
    pub(super) fn too_long() -> Self {
        Self::request(None, "The message is longer than 64 MiB.")
    }

    fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { jsonrpc: VERSION, id, error: Fault { code, message: message.into() } }
    }

    fn request(id: Option<RequestId>, message: &'static str) -> Self {
        Self::new(id, ErrorCode::INVALID_REQUEST, message)
    }

    fn params(id: RequestId, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Some(id), ErrorCode::INVALID_PARAMS, message)
    }
}

/// Parses a message. Returns `None` for one to ignore: a response, because this server sends no requests, or an invalid
/// notification.
pub(super) fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let json: &RawValue = serde_json::from_slice(line).map_err(|_| {
        Refusal::new(None, ErrorCode::PARSE_ERROR, "The message is not valid JSON.")
    })?;
    if json.get().starts_with('[') {
        let message = "Batches are not supported. Send each message on a line of its own.";
        return Err(Refusal::request(None, message));
    }
    let Some(fields) = Fields::of(json) else {
        return Err(Refusal::request(None, "The message is not an object."));
    };
    let method = fields.get("method");
    if method.is_none() && (fields.get("result").is_some() || fields.get("error").is_some()) {
        return Ok(None);
    }
    let id = match fields.get("id") {
        None => None,
        Some(id) => Some(id.read::<RequestId>().ok_or_else(|| {
            Refusal::request(None, "The field `id` must be a string or an integer.")
        })?),
    };
    if fields.get("jsonrpc").and_then(Json::string).as_deref() != Some(VERSION) {
        return Err(Refusal::request(id, "The field `jsonrpc` must be \"2.0\"."));
    }
    let Some(method) = method.and_then(Json::string) else {
        return Err(Refusal::request(id, "The field `method` must be a string."));
    };
    // Some clients send null for no params.
    let params = fields.get("params").filter(|params| params.get() != "null");
    match id {
        Some(id) => request(id, &method, params).map(Some),
        None => Ok(decode(None, &method, params.map(RawValue::get))),
    }
}

fn request(
    id: RequestId,
    method: &str,
    params: Option<&RawValue>,
) -> Result<ClientJsonRpcMessage, Refusal> {
    if method == "tools/call" {
        return call(&id, params);
    }
    let params = params.map_or("{}", RawValue::get);
    let fault = match method {
        "initialize" | "ping" | "tools/list" | "prompts/list" | "prompts/get"
        | "resources/list" | "resources/read"
            if !params.starts_with('{') =>
        {
            Some("`params` must be an object".to_owned())
        }
        "initialize" => fault::<InitializeRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" => fault::<PaginatedRequestParams>(params),
        "prompts/get" => fault::<GetPromptRequestParams>(params),
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        _ => None,
    };
    if let Some(fault) = fault {
        return Err(Refusal::params(id, format!("Invalid params of {method}: {fault}.")));
    }
    decode(Some(&id), method, Some(params))
        .ok_or_else(|| Refusal::params(id, format!("Invalid params of {method}.")))
}

/// Separates the arguments of a tool call from the rest of its message.
fn call(id: &RequestId, params: Option<&RawValue>) -> Result<ClientJsonRpcMessage, Refusal> {
    let invalid =
        |what: &str| Refusal::params(id.clone(), format!("Invalid params of tools/call: {what}."));
    let Some(fields) = params.and_then(Fields::of) else {
        return Err(invalid("`params` must be an object with the `name` of a tool"));
    };
    if fields.get("name").and_then(Json::string).is_none() {
        return Err(invalid("`name` must be the name of a tool, as a string"));
    }
    let arguments = match fields.get("arguments").map(RawValue::get) {
        // Some clients send null for no arguments.
        None | Some("null") => Arguments::of("{}"),
        Some(object) if object.starts_with('{') => Arguments::of(object),
        Some(_) => return Err(invalid("`arguments` must be an object")),
    };
    let rest = fields.without("arguments");
    if let Some(fault) = fault::<CallToolRequestParams>(&rest) {
        return Err(invalid(&fault));
    }
    match decode(Some(id), "tools/call", Some(&rest)) {
        Some(ClientJsonRpcMessage::Request(mut message)) => {
            if let ClientRequest::CallToolRequest(call) = &mut message.request {
                call.extensions.insert(arguments);
            }
            Ok(ClientJsonRpcMessage::Request(message))
        }
        _ => Err(invalid("a field has the wrong type")),
    }
}

/// Why these params are not of the type `P`.
fn fault<P: DeserializeOwned>(params: &str) -> Option<String> {
    let error = serde_json::from_str::<P>(params).err()?.to_string();
    // The position is one in a text that the client did not send.
    Some(error.split(" at line ").next().unwrap_or_default().to_owned())
}

/// The message of rmcp. Other fields than these are left out, so they cannot make the message invalid.
fn decode(
    id: Option<&RequestId>,
    method: &str,
    params: Option<&str>,
) -> Option<ClientJsonRpcMessage> {
    #[derive(Serialize)]
    struct Message<'a> {
        jsonrpc: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RequestId>,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }

    let params = match params {
        Some(params) => Some(serde_json::from_str(params).ok()?),
        None => None,
    };
    let message = serde_json::to_vec(&Message { jsonrpc: VERSION, id, method, params }).ok()?;
    serde_json::from_slice(&message).ok()
}

/// The fields of an object in their order. Their values are checked to be JSON but not decoded.
struct Fields<'j>(Vec<(&'j RawValue, &'j RawValue)>);

impl<'j> Fields<'j> {
    /// The fields of this value, if it is an object.
    fn of(json: &'j RawValue) -> Option<Self> {
        serde_json::Deserializer::from_str(json.get()).deserialize_map(RawFields).ok().map(Self)
    }

    /// The value with this name; of duplicate names, the last.
    fn get(&self, name: &str) -> Option<&'j RawValue> {
        self.0.iter().rev().find(|(other, _)| is(other, name)).map(|(_, value)| *value)
    }

    /// The object without the fields of this name.
    fn without(&self, name: &str) -> String {
        let rest = self.0.iter().filter(|(other, _)| !is(other, name));
        let fields: Vec<_> =
            rest.map(|(name, value)| format!("{}:{}", name.get(), value.get())).collect();
        format!("{{{}}}", fields.join(","))
    }
}

fn is(name: &RawValue, expected: &str) -> bool {
    name.string().is_some_and(|name| name == expected)
}

struct RawFields;

impl<'j> Visitor<'j> for RawFields {
    type Value = Vec<(&'j RawValue, &'j RawValue)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

trait Json {
    /// The value as this type; `None` for another value.
    fn read<T: DeserializeOwned>(&self) -> Option<T>;

    fn string(&self) -> Option<String> {
        self.read()
    }
}

impl Json for RawValue {
    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.get()).ok()
    }
}

/// The version of JSON-RPC.
const VERSION: &str = "2.0";

#[cfg(test)]
mod tests;
