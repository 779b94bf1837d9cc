#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test, and one test panics on purpose"
)]

use super::{HookRegistration, answer_from};
use bowline_formats::hook::HookResponse;
use std::io::Read;

/// An input that panics or fails, as no real one should.
struct Broken {
    panics: bool,
}

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        if self.panics {
            panic!("on purpose");
        }
        Err(std::io::Error::other("on purpose"))
    }
}

#[test]
fn a_panic_before_a_tool_is_a_denial_and_at_any_other_time_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".develop-workflow/state.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"phase\": \"DESIGN\"}").unwrap();
    let here = || Some(folder.path().to_owned());
    for panics in [true, false] {
        for event in [Some("pre-tool-use"), None] {
            let denied = answer_from(
                event,
                &HookRegistration::Personal,
                Broken { panics },
                here(),
            );
            assert_eq!((denied.code, denied.stdout.as_str()), (2, ""));
            assert!(denied.stderr.contains("cannot judge this call"));
        }
        let stop = answer_from(
            Some("stop"),
            &HookRegistration::Personal,
            Broken { panics },
            here(),
        );
        assert_eq!(stop, HookResponse::silent());
        std::fs::remove_file(&file).unwrap();
        let unguarded = answer_from(
            Some("pre-tool-use"),
            &HookRegistration::Personal,
            Broken { panics },
            here(),
        );
        assert_eq!(unguarded, HookResponse::silent());
        std::fs::write(&file, "{}").unwrap();
    }
}
