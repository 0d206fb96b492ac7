//! The fuzzer: `TREFOIL_FUZZ` names the target.
#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TREFOIL_FUZZ").unwrap_or_default();
    let found = targets::TARGETS.iter().find(|target| target.0 == name);
    let names: Vec<_> = targets::TARGETS.iter().map(|target| target.0).collect();
    let target = found.unwrap_or_else(|| panic!("set TREFOIL_FUZZ to one of {names:?}")).1;
    // A panic in a thread of its own is caught there and is no finding; one in this
    // thread still ends the run.
    std::panic::set_hook(Box::new(|panic| {
        if std::thread::current().name() != Some("trefoil-load") {
            eprintln!("{panic}");
        }
    }));
    target
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
