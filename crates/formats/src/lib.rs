//! Every shape another program can see. Pure: bytes in, bytes out, never a path.

pub mod markers;
