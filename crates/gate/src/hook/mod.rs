//! The hook: from the bytes a client sends to what it is answered.

mod world;

pub use world::{World, is_ignored};
