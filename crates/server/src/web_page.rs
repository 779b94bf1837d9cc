//! The web page: its files are embedded in the program; every address that is no file of it serves
//! `index.html`.

use crate::http_request::{bytes_response, set_header};
use axum::body::Body;
use axum::http::{HeaderMap, Response, header};
use rust_embed::RustEmbed;

/// Files that `cargo xtask web` builds.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct WebPageFiles;

/// Shown instead of a page that was not built.
const PLACEHOLDER_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Bowline</title>\
<h1>Bowline</h1><p>The server runs. Its web page was not built into this program: run <code>cargo xtask web</code>, then \
build again.</p><p>The interface is there: <code>bowline task list</code>, \
<a href=\"/api/openapi.json\">/api/openapi.json</a>.</p></html>\n";

/// Content security policy of the page: nothing is loaded from elsewhere.
pub(crate) const PAGE_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
frame-ancestors 'none'";

/// Serves a file of the page, or `index.html`.
pub(crate) fn serve_page(path: &str, headers: &HeaderMap) -> Response<Body> {
    let name = path.trim_start_matches('/');
    let (name, found) = match WebPageFiles::get(name) {
        Some(file) if !name.is_empty() => (name, Some(file)),
        Some(_) | None => ("index.html", WebPageFiles::get("index.html")),
    };
    let Some(file) = found else {
        return bytes_response("text/html; charset=utf-8", PLACEHOLDER_PAGE);
    };
    let accepts = headers.get_all(header::ACCEPT_ENCODING).iter();
    let gzip = accepts
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|it| it.trim().starts_with("gzip")));
    let packed = if gzip {
        WebPageFiles::get(&format!("{name}.gz"))
    } else {
        None
    };
    let is_packed = packed.is_some();
    let data = packed.map_or(file.data, |packed| packed.data).into_owned();
    let mut response = bytes_response(content_type(name), data);
    if is_packed {
        set_header(&mut response, header::CONTENT_ENCODING, "gzip");
    }
    set_header(&mut response, header::VARY, "Accept-Encoding");
    // Files below `assets` have a hash of their content in the name.
    let keep = match name.starts_with("assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    set_header(&mut response, header::CACHE_CONTROL, keep);
    response
}

/// Returns the content type of a file by its extension.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
