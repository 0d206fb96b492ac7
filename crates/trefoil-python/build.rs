//! Of the module, Python needs one symbol. `hnsw_rs` marks functions for other languages to be
//! exported, which would keep an index for each type of number in the wheel: 64 functions, .4 MB.

use std::env;

#[expect(clippy::disallowed_methods, reason = "Cargo tells by the environment what it builds for")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--exclude-libs=ALL");
    }
}
