//! The web page is put into the program when this crate is compiled; nothing is built here. `cargo xtask web` gives this file a
//! new time when it has built another page, so that the next build takes it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
