//! The scripted agent (`bowline scripted`) and the demo that is made of such agents
//! (`bowline demo`).

mod agent;
mod demo;

pub use agent::{OUTPUT_GONE, ScriptedAgent};
pub use demo::{DemoOptions, DemoOutput, EndDemo, StartDemo, run_demo};
