//! The rules of the five kinds of work, as pure state machines.
