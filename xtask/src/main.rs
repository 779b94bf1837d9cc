//! Chores of this repository: `cargo xtask test | demo | docs | drill | bench | fuzz`.

fn main() {}
