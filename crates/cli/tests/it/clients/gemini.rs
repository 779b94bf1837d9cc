//! `gemini` with our hooks, which it reads in a folder that is trusted. Its shell switches git's hooks off, so it has no others.

use super::Guarded;
use bowline_test_support::model_server::ModelServer;
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;

/// A named model: otherwise it asks one which to take.
const MODEL: &str = "gemini-2.5-flash";

/// Writes its settings: how it identifies itself, and that it trusts the workspace.
pub(super) fn settings(world: &Guarded) -> PathBuf {
    let home = world.0.root().join("home/.gemini");
    std::fs::create_dir_all(&home).unwrap();
    let key = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    let path = home.join("settings.json");
    std::fs::write(&path, key.to_string()).unwrap();
    let mut trusted = serde_json::Map::new();
    let project = world
        .0
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    trusted.insert(project, json!("TRUST_FOLDER"));
    let trusted = serde_json::Value::Object(trusted).to_string();
    std::fs::write(home.join("trustedFolders.json"), trusted).unwrap();
    path
}

pub(super) fn arguments(client: &mut Command, model: &ModelServer, prompt: &str) {
    client
        .env("GOOGLE_GEMINI_BASE_URL", model.url())
        .env("GEMINI_API_KEY", "opens-nothing")
        .env("GEMINI_MODEL", MODEL)
        .env("GEMINI_TELEMETRY_ENABLED", "false")
        .args(["-p", prompt, "-o", "stream-json"])
        .args(["--approval-mode", "yolo"]);
}
