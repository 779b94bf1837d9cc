//! Benchmarks, run by `cargo xtask bench`.

fn main() {}
