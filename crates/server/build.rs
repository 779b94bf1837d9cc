//! The web page is put into the program when this crate is compiled; nothing is built here. Another page that `cargo xtask web`
//! has built is taken by the next build.

fn main() {
    let page = "../../web/dist/index.html";
    // A file that is not there would have this crate compiled again every time. `cargo xtask web` gives this one a new time
    // when it has built the first page.
    let watched = match std::path::Path::new(page).exists() {
        true => page,
        false => "build.rs",
    };
    println!("cargo:rerun-if-changed=build.rs\ncargo:rerun-if-changed={watched}");
}
