//! Links the crate as an addon of Node.js.

fn main() {
    // The macros of napi write the types of the addon into this folder while they are expanded.
    println!("cargo::rerun-if-env-changed=NAPI_TYPE_DEF_TMP_FOLDER");
    napi_build::setup();
}
