//! The binary `bowline`.

fn main() {}
