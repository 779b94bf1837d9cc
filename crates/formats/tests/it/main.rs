//! Whole files through the formats, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests read their golden files, and a test that cannot unwrap has failed"
)]

mod agents;
mod checkpoint;
mod damage;
mod develop;
mod families;
mod golden;
mod import;
mod import_properties;
mod markers;
mod memory;
mod orchestrate;
mod pages;
mod stored;
mod tasks_md;
mod thinking;
