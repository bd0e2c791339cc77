//! Texts for JavaScript, which are wiped once JavaScript has a copy of its own.

use inmost::Wiped;
use napi::bindgen_prelude::ToNapiValue;
use napi::sys;

/// A text or a path of the memory, as a property of an object.
pub struct Text(Wiped<String>);

impl Text {
    pub(crate) fn of(text: &str) -> Self {
        Self(Wiped::new(text.to_owned()))
    }
}

impl ToNapiValue for Text {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: `env` is the one that napi gave this call, as for the conversion that it is passed to.
        unsafe { <&str>::to_napi_value(env, text.0.as_str()) }
    }
}
