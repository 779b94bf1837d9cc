//! Names from the tables and documents that the program itself works by.

use crate::args::Cli;
use bowline_formats::{rest, schema};
use bowline_mcp::table::{ParameterType, VERBS};
use bowline_store::SqliteStore;
use clap::{Arg, Command, CommandFactory as _};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeSet;
use xtask::Outcome;
use xtask::shell::{Scratch, root};

/// Returns the REST interface: routes, parameters, bodies and their words.
pub(crate) fn rest() -> BTreeSet<String> {
    let document = rest::openapi::openapi_document();
    let mut lines = BTreeSet::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, route) in members(methods) {
            let id = text(&route["operationId"]);
            lines.insert(format!("rest {} {path} {id}", method.to_uppercase()));
            for parameter in route["parameters"].as_array().into_iter().flatten() {
                let (place, name) = (text(&parameter["in"]), text(&parameter["name"]));
                lines.insert(format!("rest-{place} {id} {name}"));
            }
            let body = &route["requestBody"]["content"];
            shapes(body, &format!("rest-body {id}"), &mut lines);
            for (_, answer) in members(&route["responses"]) {
                shapes(&answer["content"], &format!("rest-answer {id}"), &mut lines);
                let header = |(name, _)| format!("rest-answer-header {id} {name}");
                lines.extend(members(&answer["headers"]).map(header));
            }
        }
    }
    for (name, shape) in members(&document["components"]["schemas"]) {
        lines.insert(format!("rest-schema {name}"));
        walk(shape, "rest", name, &mut lines);
    }
    lines
}

/// Adds the content types of a body with their schemas, other than those of errors.
fn shapes(content: &Value, of: &str, lines: &mut BTreeSet<String>) {
    for (kind, content) in members(content) {
        let schema = text(&content["schema"]["$ref"]);
        let name = schema.rsplit('/').next().unwrap_or_default();
        if name != "ErrorBody" {
            lines.insert(format!("{of} {kind} {name}").trim_end().to_owned());
        }
    }
}

/// Returns the keys and words of state files and settings, from their JSON Schemas.
pub(crate) fn files() -> Outcome<BTreeSet<String>> {
    let mut lines = BTreeSet::new();
    for (kind, schema) in schema::ALL {
        let schema = serde_json::from_str(schema).map_err(|error| format!("{kind}: {error}"))?;
        walk(&schema, "file", kind, &mut lines);
    }
    Ok(lines)
}

/// Adds the keys and words of a JSON Schema below a path.
fn walk(schema: &Value, section: &str, path: &str, lines: &mut BTreeSet<String>) {
    for (key, value) in members(schema) {
        match key.as_str() {
            "properties" | "patternProperties" => {
                for (name, value) in members(value) {
                    let path = format!("{path}.{name}");
                    lines.insert(format!("{section}-key {path}"));
                    walk(value, section, &path, lines);
                }
            }
            "$defs" => {
                for (name, value) in members(value) {
                    walk(value, section, &format!("{path}#{name}"), lines);
                }
            }
            "items" | "prefixItems" => walk(value, section, &format!("{path}[]"), lines),
            "additionalProperties" => walk(value, section, &format!("{path}.*"), lines),
            "enum" | "const" => {
                let words = value
                    .as_array()
                    .map_or(std::slice::from_ref(value), Vec::as_slice);
                for word in words.iter().filter_map(Value::as_str) {
                    lines.insert(format!("{section}-word {path} {word}"));
                }
            }
            _ => walk(value, section, path, lines),
        }
    }
    for one in schema.as_array().into_iter().flatten() {
        walk(one, section, path, lines);
    }
}

/// Returns the command line: verbs, options, value names and words.
pub(crate) fn command_line() -> BTreeSet<String> {
    let mut command = Cli::command();
    command.build();
    let mut lines = BTreeSet::new();
    commands(&command, "bowline", true, &mut lines);
    lines
}

fn commands(command: &Command, path: &str, first: bool, lines: &mut BTreeSet<String>) {
    lines.insert(format!("cli {path}"));
    for alias in command.get_all_aliases() {
        lines.insert(format!("cli {path} also {alias}"));
    }
    // Options of every command are listed once.
    let own = |arg: &&Arg| first || !(arg.is_global_set() || arg.get_id() == "help");
    for arg in command.get_arguments().filter(own) {
        argument(arg, path, lines);
    }
    // clap's own command repeats the tree.
    for below in command
        .get_subcommands()
        .filter(|it| it.get_name() != "help")
    {
        commands(below, &format!("{path} {}", below.get_name()), false, lines);
    }
}

fn argument(arg: &Arg, path: &str, lines: &mut BTreeSet<String>) {
    let mut line = format!("cli {path}");
    if let Some(short) = arg.get_short() {
        line += &format!(" -{short}");
    }
    if let Some(long) = arg.get_long() {
        line += &format!(" --{long}");
    }
    let takes = arg.is_positional() || arg.get_action().takes_values();
    for value in arg
        .get_value_names()
        .into_iter()
        .flatten()
        .filter(|_| takes)
    {
        line += &format!(" <{value}>");
    }
    for word in arg.get_possible_values().iter().filter(|_| takes) {
        lines.insert(format!("{line} = {}", word.get_name()));
    }
    for alias in arg.get_all_aliases().into_iter().flatten() {
        lines.insert(format!("{line} also --{alias}"));
    }
    lines.insert(line);
}

/// Returns the tools of the Model Context Protocol with their arguments.
pub(crate) fn tools() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for verb in VERBS.iter().copied().flatten() {
        lines.insert(format!("mcp {}", verb.name));
        for arg in verb.takes {
            lines.insert(format!("mcp {} {}", verb.name, arg.name));
            if let ParameterType::Word(words) = arg.kind {
                let word = |word| format!("mcp {} {} = {word}", verb.name, arg.name);
                lines.extend(words.iter().map(word));
            }
        }
    }
    lines
}

/// Returns the error codes; a test of the command line holds their page against the sources.
pub(crate) fn codes() -> Outcome<BTreeSet<String>> {
    let page = std::fs::read_to_string(root().join("docs/errors.md"))
        .map_err(|error| format!("docs/errors.md: {error}"))?;
    let codes = page.lines().filter_map(|line| line.strip_prefix("## "));
    Ok(codes.map(|code| format!("code {code}")).collect())
}

/// Returns the tables, columns and indexes of a new store.
pub(crate) fn tables() -> Outcome<BTreeSet<String>> {
    let folder = Scratch::new("outward")?;
    let path = folder.0.join("store.sqlite");
    drop(SqliteStore::open(&path).map_err(|error| format!("store: {error}"))?);
    let read = || -> rusqlite::Result<BTreeSet<String>> {
        let store = Connection::open(&path)?;
        let mut rows = store.prepare(
            "SELECT 'store table ' || it.name || '.' || part.name FROM sqlite_schema it \
             JOIN pragma_table_info(it.name) part WHERE it.type = 'table' \
             UNION SELECT 'store index ' || name FROM sqlite_schema WHERE type = 'index'",
        )?;
        let rows = rows.query_map([], |row| row.get::<_, String>(0))?;
        rows.collect()
    };
    read().map_err(|error| format!("store: {error}"))
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
