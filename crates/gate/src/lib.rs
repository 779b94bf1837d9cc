//! Whether a tool call of an agent may go on while a develop run is open.

pub mod belief;
pub mod locate;
