//! `docs/openapi.json`, made from the table of routes and the shapes of bodies.

use super::routes::{
    ApiRoute, BodyShape, HttpMethod, Operation, ROUTES, ResponseContent, RouteAccess,
};
use super::{ErrorBody, EventBody, Health};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The whole document.
pub fn openapi_document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| {
        it.definitions_path = "/components/schemas".into();
        it.meta_schema = None;
    });
    let mut sent = SchemaGenerator::new(settings.clone().for_serialize());
    let mut read = SchemaGenerator::new(settings.for_deserialize());
    let mut paths: Map<String, Value> = Map::new();
    for route in &ROUTES {
        let operation = operation_object(route, &mut sent, &mut read);
        let place = paths.entry(route.path).or_insert_with(|| json!({}));
        place[route.method.name().to_lowercase()] = operation;
    }
    let mut schemas = read.take_definitions(true);
    schemas.append(&mut sent.take_definitions(true));
    schemas.sort_keys();
    let tags: BTreeSet<&str> = ROUTES
        .iter()
        .map(|route| operation_tag(route.path))
        .collect();
    let tags: Vec<Value> = tags.iter().map(|name| json!({ "name": name })).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bowline task server",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tasks through phases, reviews, questions, limits and crashes. Times are RFC 3339 in UTC.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7420" }],
        "security": [{ "bearer": [] }, { "cookie": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "The text of DATA/token." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "bowline_session_ID", "description": "From a one-time link. ID is 8 hexadecimal digits, which are the server's own." },
            },
            "schemas": schemas,
        },
    });
    simplify_schemas(&mut document);
    document
}

/// The group of an operation: the first segment of its path behind `/api`.
fn operation_tag(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    let mut parts = path.split(['/', '.']).filter(|part| !part.is_empty());
    parts.next().unwrap_or(path)
}

/// Writes schemas the way public generators take them: a choice of texts as `enum`, with the
/// meaning of each in the description, and the schema of anything as an object.
fn simplify_schemas(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some((names, meanings)) = object.get("oneOf").and_then(choice_texts) {
                object.remove("oneOf");
                let about = object.get("description").and_then(Value::as_str);
                let about = format!("{}\n\n{meanings}", about.unwrap_or_default());
                object.insert("description".into(), about.trim().into());
                object.insert("type".into(), "string".into());
                object.insert("enum".into(), names.into());
            }
            if object.get("items") == Some(&Value::Bool(true)) {
                object.insert("items".into(), json!({}));
            }
            object.values_mut().for_each(simplify_schemas);
        }
        Value::Array(all) => all.iter_mut().for_each(simplify_schemas),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The texts of a choice that has nothing else, and a list of what they mean.
fn choice_texts(choice: &Value) -> Option<(Vec<String>, String)> {
    let (mut names, mut meanings) = (Vec::new(), Vec::new());
    for one in choice.as_array()? {
        match one.get("const") {
            Some(text) => {
                let name = text.as_str()?;
                if let Some(about) = one.get("description").and_then(Value::as_str) {
                    meanings.push(format!("- `{name}`: {about}"));
                }
                names.push(name.to_owned());
            }
            // Those without a description come together.
            None => {
                for text in one.get("enum")?.as_array()? {
                    names.push(text.as_str()?.to_owned());
                }
            }
        }
    }
    Some((names, meanings.join("\n")))
}

/// The document as it is kept in `docs/openapi.json`.
pub fn openapi_text() -> String {
    format!("{:#}\n", openapi_document())
}

fn operation_object(
    route: &ApiRoute,
    sent: &mut SchemaGenerator,
    read: &mut SchemaGenerator,
) -> Value {
    let mut operation = json!({
        "operationId": route.operation.name(),
        "summary": route.summary,
        "tags": [operation_tag(route.path)],
        "x-access": route.access.name(),
        "responses": operation_responses(route, sent),
    });
    let parameters = operation_parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = route.body {
        // A body without anything in it that is required may be left away.
        let optional = [
            "Nothing",
            "Approval",
            "RejectRequest",
            "NewTask",
            "EditTask",
            "ForkRequest",
        ];
        operation["requestBody"] = json!({
            "required": !optional.contains(&body.name),
            "content": { "application/json": { "schema": schema(body, read) } },
        });
    }
    if route.access == RouteAccess::Open {
        operation["security"] = json!([]);
    }
    operation
}

fn operation_parameters(route: &ApiRoute) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let names = route.path.split('{').skip(1);
    for name in names.filter_map(|part| part.split('}').next()) {
        let schema = match name {
            "kind" => {
                json!({ "type": "string", "enum": ["thinking", "memory", "develop", "orchestrate"] })
            }
            _ => json!({ "type": "string" }),
        };
        all.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    for query in route.query {
        let kind = if query.number { "integer" } else { "string" };
        all.push(json!({
            "name": query.name, "in": "query", "required": false,
            "description": query.about, "schema": { "type": kind },
        }));
    }
    if matches!(route.answer, ResponseContent::Events) {
        all.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "description": "The last event that was seen; everything behind it follows.",
            "schema": { "type": "integer" },
        }));
    }
    let changes = !matches!(
        route.operation,
        Operation::SignIn | Operation::SignOut | Operation::TryPermissionRule
    );
    if route.method != HttpMethod::Get && changes {
        all.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same key again gets the response of the first time, and nothing is done twice. With another content it is refused as `request_reused`.",
            "schema": { "type": "string", "maxLength": 100 },
        }));
    }
    if route.method != HttpMethod::Get && route.access == RouteAccess::Person {
        all.push(json!({
            "name": "If-Match", "in": "header", "required": false,
            "description": "The `version` of the task or the state file that was looked at; when it moved on since, nothing is done and 409 `changed` is answered.",
            "schema": { "type": "string" },
        }));
    }
    all
}

fn operation_responses(route: &ApiRoute, sent: &mut SchemaGenerator) -> Value {
    let content = match route.answer {
        ResponseContent::Json(shape) => {
            Some(json!({ "application/json": { "schema": schema(shape, sent) } }))
        }
        ResponseContent::Text => Some(json!({ "text/plain": { "schema": { "type": "string" } } })),
        ResponseContent::Bytes => Some(json!({ "application/octet-stream": {} })),
        ResponseContent::Zip => Some(json!({ "application/zip": {} })),
        ResponseContent::Events => {
            // The schema is of the `data:` of each event.
            let body = sent.subschema_for::<EventBody>();
            Some(json!({ "text/event-stream": { "schema": { "type": "string" }, "x-data": body } }))
        }
        ResponseContent::Empty => None,
    };
    let mut success = json!({ "description": "Done." });
    if let Some(content) = content {
        success["content"] = content;
    }
    let header = match route.operation {
        Operation::ListTasks => Some((
            "X-Sequence",
            "The latest event the list knows of: ask for events behind it.",
        )),
        Operation::GetLogs => Some(("X-Next-Offset", "Where to go on.")),
        _ => None,
    };
    if let Some((name, about)) = header {
        success["headers"] =
            json!({ name: { "description": about, "schema": { "type": "integer" } } });
    }
    let mut all = json!({ route.status.to_string(): success });
    let error = sent.subschema_for::<ErrorBody>();
    let mut fails = |status: &str, about: &str| {
        all[status] = json!({
            "description": about,
            "content": { "application/json": { "schema": error } },
        });
    };
    // Sent before anybody looks at the route.
    fails("400", "It cannot be understood.");
    fails("403", "Not this caller, or not from there.");
    fails(
        "429",
        "Too much at once; `Retry-After` says when to come back.",
    );
    fails(
        "503",
        "The server starts, drains or has too many connections.",
    );
    if route.access != RouteAccess::Open || route.operation == Operation::SignIn {
        fails("401", "Without a token, or with a wrong one.");
    }
    // Who is named by its path, by its token, or by its body.
    let named = matches!(
        route.operation,
        Operation::PermitTools | Operation::DenyTools | Operation::CreateTask
    );
    let names = route.path.contains('{') || named;
    if names || route.access == RouteAccess::Agent {
        fails("404", "There is none.");
    }
    if route.body.is_some() || route.access == RouteAccess::Person {
        fails("409", "A rule refuses; nothing changed.");
        fails("413", "The body is too big.");
        fails("415", "The body is no JSON.");
    }
    if matches!(route.answer, ResponseContent::Events) {
        fails(
            "410",
            "The event is older than what is kept; `oldest` is the first that is.",
        );
    }
    if matches!(route.answer, ResponseContent::Zip) {
        fails("413", "The files are too big for one ZIP.");
    }
    if route.operation == Operation::Ready {
        let health = sent.subschema_for::<Health>();
        all["503"]["content"]["application/json"]["schema"] = json!({ "anyOf": [error, health] });
    }
    all
}

fn schema(shape: BodyShape, generator: &mut SchemaGenerator) -> Value {
    (shape.schema)(generator).to_value()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    fn objects<'a>(value: &'a Value, all: &mut Vec<&'a Map<String, Value>>) {
        match value {
            Value::Object(object) => {
                all.push(object);
                object.values().for_each(|it| objects(it, all));
            }
            Value::Array(items) => items.iter().for_each(|it| objects(it, all)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn public_generators_take_the_document() {
        let document = openapi_document();
        let mut all = Vec::new();
        objects(&document, &mut all);
        for object in all {
            let choice = object.get("oneOf").and_then(Value::as_array);
            let text = |it: &Value| it.get("const").is_some_and(Value::is_string);
            assert!(!choice.is_some_and(|it| it.iter().any(text)), "{object:?}");
            assert!(!object.get("items").is_some_and(Value::is_boolean));
        }
        let tags = document["tags"].as_array().unwrap();
        let mut ids = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                let tag = json!({ "name": operation["tags"][0] });
                assert!(tags.contains(&tag), "{path}");
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id), "{path}: {id}");
            }
        }
        let role = &document["components"]["schemas"]["Role"];
        assert_eq!(role["enum"], json!(["person", "agent"]));
        let about = role["description"].as_str().unwrap();
        assert!(about.contains("- `person`: A person's."), "{about}");
    }
}
