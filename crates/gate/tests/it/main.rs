//! The gate on real files.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot unwrap has failed, and says where; tests run the real git and the real shell"
)]

mod calls;
mod card;
mod locate;
mod messages;
mod run_trust;
mod tricks;
