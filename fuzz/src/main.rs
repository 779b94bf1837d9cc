//! One program for all fuzz targets; the environment says which (`cargo xtask fuzz` does).
#![no_main]

use std::sync::OnceLock;

/// Names the target.
const TARGET_VARIABLE: &str = "BOWLINE_FUZZ_TARGET";

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let run = TARGET.get_or_init(|| {
        let name = std::env::var(TARGET_VARIABLE).unwrap_or_default();
        match bowline_fuzz_targets::find(&name) {
            Some(target) => target.run,
            None => panic!("{TARGET_VARIABLE} names no target: '{name}'"),
        }
    });
    run(data);
});
