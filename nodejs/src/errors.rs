//! Failed calls as objects, from which the TypeScript half makes exceptions.

use inmost_bindings::{Detail, Family};
use napi::Env;
use napi::bindgen_prelude::{JsValue, Null, Object, Unknown};

use crate::records::{self, number};

pub(crate) use inmost_bindings::Failure;

/// A failure as a value of JavaScript.
pub(crate) trait Thrown {
    /// A rejection or an exception with this failure as its value.
    fn into_error(self, env: &Env) -> napi::Error;

    /// The object that the TypeScript half reads. An `Error`, because napi throws nothing else from calls that return at
    /// once.
    fn to_js<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>>;
}

impl Thrown for Failure {
    fn into_error(self, env: &Env) -> napi::Error {
        match self.to_js(env) {
            Ok(object) => napi::Error::from(object),
            Err(error) => error,
        }
    }

    fn to_js<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let mut object = env.create_error(napi::Error::from_reason(""))?;
        object.set("family", name(self.family))?;
        object.set("code", self.code)?;
        object.set("message", self.message.as_str())?;
        object.set("advice", self.advice)?;
        let mut details = Object::new(env)?;
        for (name, detail) in &self.details {
            match detail {
                Detail::Number(value) => details.set(name, number(*value))?,
                Detail::Text(text) => details.set(name, text.as_str())?,
                Detail::Lines(lines) => {
                    details.set(name, lines.iter().copied().map(number).collect::<Vec<_>>())?;
                }
                Detail::Version(version) => details.set(name, records::file_version(version))?,
                Detail::Nothing => details.set(name, Null)?,
            }
        }
        object.set("details", details)?;
        Ok(object.to_unknown())
    }
}

fn name(family: Family) -> &'static str {
    match family {
        Family::Store => "store",
        Family::File => "file",
        Family::Sync => "sync",
        Family::Credential => "credential",
        Family::Argument => "argument",
    }
}

/// The failure for a mistake of the program.
pub(crate) fn argument(message: &str) -> Failure {
    Failure::new(Family::Argument, "InvalidArgument", message.to_owned(), "")
}

/// The failure of a call that panicked.
pub(crate) fn panicked() -> Failure {
    let message = "The call ended unexpectedly.".to_owned();
    let advice = "Please report it. Every change that the store acknowledged is safe.";
    Failure::new(Family::Store, "StoreError", message, advice)
}
