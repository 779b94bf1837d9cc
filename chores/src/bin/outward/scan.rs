//! Names that stand in the sources alone: keys of derived formats, sets of words, environment
//! variables, file names, metrics.
//!
//! The modules of each crate are read from its root file; tests are left out. Lines name no module,
//! type or function of ours, so that renaming and moving code leaves them as they are.

use crate::shapes::{self, Shape};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit};
use xtask::Outcome;
use xtask::shell::root;

/// Sources whose words are sentences, doubles of tests, or the words of other programs.
const LEFT_OUT: [&str; 6] = [
    "crates/test-support/",
    "crates/words/src/english/",
    "crates/words/src/korean/",
    "crates/words/src/message/",
    "crates/gate/src/shell/",
    "crates/formats/src/import/",
];
/// Sources whose derived formats are written as samples instead: see `stored.rs`.
const SAMPLED: [&str; 2] = ["crates/machines/", "crates/formats/src/job/"];
/// Methods whose first argument is a key of JSON.
const BY_KEY: [&str; 7] = [
    "get",
    "get_mut",
    "remove",
    "insert",
    "contains_key",
    "entry",
    "pointer",
];
const EXTENSIONS: [&str; 17] = [
    "bak", "css", "html", "js", "json", "jsonl", "lock", "log", "md", "patch", "sock", "sqlite",
    "svg", "toml", "txt", "yaml", "zip",
];
/// Functions that map errors to codes; codes have a section of their own.
const CODES: [&str; 2] = ["code", "code_and_status"];

/// The names that a scan finds.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) shapes: BTreeSet<String>,
    pub(crate) words: BTreeSet<String>,
    pub(crate) keys: BTreeSet<String>,
    pub(crate) variables: BTreeSet<String>,
    pub(crate) files: BTreeSet<String>,
    pub(crate) constants: BTreeSet<String>,
    pub(crate) markers: BTreeSet<String>,
    pub(crate) metrics: BTreeSet<String>,
    sampled: bool,
}

/// Reads the sources of all crates.
pub(crate) fn names() -> Outcome<Names> {
    let mut names = Names::default();
    let crates = root().join("crates");
    let entries = std::fs::read_dir(&crates).map_err(|error| format!("crates: {error}"))?;
    for entry in entries.flatten() {
        for main in ["lib.rs", "main.rs"] {
            let path = entry.path().join("src").join(main);
            if path.is_file() {
                names.read(&path, &entry.path().join("src"))?;
            }
        }
    }
    Ok(names)
}

impl Names {
    /// Reads a module and those below it; `folder` is where the latter are.
    fn read(&mut self, path: &Path, folder: &Path) -> Outcome {
        let shown = path.strip_prefix(root()).unwrap_or(path).to_string_lossy();
        if LEFT_OUT.iter().any(|it| shown.starts_with(it)) {
            return Ok(());
        }
        let wrong = |error: &dyn std::fmt::Display| format!("{shown}: {error}");
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let file = syn::parse_file(&text).map_err(|error| wrong(&error))?;
        self.sampled = SAMPLED.iter().any(|it| shown.starts_with(it));
        self.visit_file(&file);
        for item in &file.items {
            let Item::Mod(below) = item else { continue };
            if below.content.is_none() && !is_test(&below.attrs) {
                let name = below.ident.to_string();
                let single: PathBuf = folder.join(format!("{name}.rs"));
                let folder = folder.join(&name);
                let path = match single.is_file() {
                    true => single,
                    false => folder.join("mod.rs"),
                };
                self.read(&path, &folder)?;
            }
        }
        Ok(())
    }

    /// Takes a string literal for what its spelling says it is.
    fn literal(&mut self, text: &str) {
        let text = without_parameters(text);
        let text = text.as_str();
        for (at, _) in text.match_indices("BOWLINE_") {
            let name = |letter: char| letter.is_ascii_uppercase() || letter == '_';
            let rest = &text[at..];
            let end = rest.find(|letter| !name(letter)).unwrap_or(rest.len());
            self.variables.insert(format!("env {}", &rest[..end]));
        }
        let ours = is_name(text) && !text.starts_with("../");
        let file = ours.then(|| text.rsplit_once('.')).flatten();
        if file.is_some_and(|(_, extension)| EXTENSIONS.contains(&extension)) {
            self.files.insert(format!("path {text}"));
        }
        let tag = text.trim_start_matches(['[', '/']).trim_end_matches(']');
        let upper = |letter: char| letter.is_ascii_uppercase() || letter == '_';
        if text.contains("=== ") && !text.contains(['\'', '\n', '.'])
            || (tag.len() > 3 && tag.chars().all(upper) && !tag.starts_with("BOWLINE_"))
        {
            self.markers.insert(format!("marker {text}"));
        }
        if text.starts_with("X-") || text.starts_with("bowline://") {
            self.constants.insert(format!("word {text}"));
        }
    }

    fn key(&mut self, argument: Option<&str>) {
        if let Some(key) = argument.filter(|it| is_name(it)) {
            self.keys.insert(format!("json-key {key}"));
        }
    }

    fn method(&mut self, name: &str, argument: Option<&str>) {
        if BY_KEY.contains(&name) {
            self.key(argument);
        }
        let part = argument.filter(|it| is_name(it) && name == "join");
        self.files.extend(part.map(|it| format!("path {it}")));
    }

    fn set(&mut self, words: impl IntoIterator<Item = String>) {
        let words: BTreeSet<String> = words.into_iter().collect();
        if words.len() > 1 && words.iter().all(|word| is_name(word)) {
            let words: Vec<String> = words.into_iter().collect();
            self.words.insert(format!("words {}", words.join(" ")));
        }
    }

    /// Reads the arguments of a macro, which are no syntax tree. `json` says that they are JSON.
    fn tokens(&mut self, tokens: TokenStream, json: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let next = tokens.get(index + 1);
            match token {
                // Attributes are for the compiler.
                TokenTree::Group(_) if index > 0 && is_punct(tokens.get(index - 1), '#') => {}
                TokenTree::Group(group) => self.tokens(group.stream(), json),
                TokenTree::Literal(_) => {
                    let Some(text) = string(token) else { continue };
                    self.literal(&text);
                    if json && is_punct(next, ':') {
                        self.key(Some(&text));
                    }
                }
                TokenTree::Ident(name) => {
                    let Some(TokenTree::Group(group)) = next else {
                        continue;
                    };
                    let first = group.stream().into_iter().next();
                    if group.delimiter() == Delimiter::Parenthesis {
                        let argument = first.as_ref().and_then(string);
                        self.method(&name.to_string(), argument.as_deref());
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, shape) = match item {
            Item::Mod(it) => (&it.attrs, None),
            Item::Fn(it) => (&it.attrs, None),
            Item::Impl(it) => (&it.attrs, None),
            Item::Const(it) => {
                let text = literal_of(&it.expr).filter(|it| is_name(it));
                self.constants.extend(text.map(|it| format!("word {it}")));
                (&it.attrs, None)
            }
            Item::Struct(it) => (&it.attrs, shapes::of(it.clone().into())),
            Item::Enum(it) => (&it.attrs, shapes::of(it.clone().into())),
            _ => return visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        match shape.filter(|_| !self.sampled) {
            Some(Shape::Keys(keys)) => self.shapes.extend([format!("shape {keys}")]),
            Some(Shape::Words(words)) => self.set(words),
            None => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let name = function.sig.ident.to_string();
        if !is_test(&function.attrs) && !CODES.contains(&name.as_str()) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.literal(&literal.value());
    }

    fn visit_expr_match(&mut self, table: &'ast syn::ExprMatch) {
        self.set(table.arms.iter().filter_map(|arm| literal_of(&arm.body)));
        visit::visit_expr_match(self, table);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let argument = call.args.first().and_then(literal_of);
        self.method(&call.method.to_string(), argument.as_deref());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        self.key(literal_of(&index.index).as_deref());
        visit::visit_expr_index(self, index);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let sort = call.args.get(1).and_then(literal_of);
        if sort.is_some_and(|it| ["counter", "gauge", "histogram"].contains(&it.as_str())) {
            let mut labels = Labels::default();
            labels.visit_expr_call(call);
            let name = call.args.first().and_then(literal_of).unwrap_or_default();
            let line = |labels: &String| format!("metric bowline_{name}{labels}");
            self.metrics.extend(labels.0.iter().map(line));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        let name = it.path.segments.last().map(|it| it.ident.to_string());
        let name = name.unwrap_or_default();
        if name == "named" {
            self.set(named(it.tokens.clone()));
        }
        for text in strings(it.tokens.clone()) {
            let metric = text.split("# TYPE ").nth(1);
            let metric = metric.and_then(|it| it.split(' ').next());
            let metric = metric.filter(|it| is_name(it) && !it.contains('{'));
            self.metrics.extend(metric.map(|it| format!("metric {it}")));
        }
        self.tokens(it.tokens.clone(), name == "json");
    }
}

/// The labels of a metric; the empty one where it has none.
#[derive(Default)]
struct Labels(BTreeSet<String>);

impl<'ast> Visit<'ast> for Labels {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        let text = literal.value();
        if text.is_empty() || text.starts_with('{') {
            self.0.insert(text);
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        let tokens = it.meta.require_list().map(|list| list.tokens.to_string());
        it.path().is_ident("cfg") && tokens.is_ok_and(|it| it.starts_with("test"))
    })
}

/// True if a text can be a name: letters, digits and signs of names, without blanks.
fn is_name(text: &str) -> bool {
    let sign = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@{}*".contains(letter);
    text.len() > 1 && text.chars().all(sign) && text.chars().any(|it| it.is_ascii_alphabetic())
}

/// Empties the braces of a format text: what stands in them are names of variables.
fn without_parameters(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let rest = part.find('}').map_or(part, |end| &part[end..]);
        all + "{" + rest
    })
}

fn literal_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(it) => match &it.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn string(token: &TokenTree) -> Option<String> {
    syn::parse2::<syn::LitStr>(token.clone().into())
        .ok()
        .map(|it| it.value())
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == sign)
}

fn strings(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .filter_map(|token| string(&token))
        .collect()
}

/// Returns the texts behind the equals signs of `named!`.
fn named(tokens: TokenStream) -> Vec<String> {
    let body = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    });
    body.flat_map(strings).collect()
}
