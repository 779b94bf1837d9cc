//! Computes the smallest edit that gives a text another value.

use super::render::{JsonLayout, render_key, render_value};
use super::{tree, values_equal};
use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Returns the text edited so that its value is `target`. `current` is its present value.
pub(super) fn reconcile_text(text: &str, current: &Value, target: &Value) -> String {
    if values_equal(current, target) {
        return text.to_owned();
    }
    tree::with_root(text, |root| {
        let Some(root) = root else {
            return super::render::render_lines(target, "", "  ", "\n");
        };
        let mut editor = Editor::new(text, root);
        editor.edit_value(root, current, target);
        editor.finish()
    })
}

/// A range of the text and its replacement.
struct TextEdit {
    start: usize,
    end: usize,
    insert: String,
}

struct Editor<'t> {
    text: &'t str,
    newline: &'static str,
    /// One level of indent; `None` for a document on one line.
    unit: Option<String>,
    spaced: bool,
    splices: Vec<TextEdit>,
}

/// Brackets and members of an object or array.
struct Frame {
    /// Offset just behind the opening bracket.
    open: usize,
    /// Offset of the closing bracket.
    close: usize,
    /// Start and end of each member; a member of an object starts at its key.
    members: Vec<(usize, usize)>,
}

impl Frame {
    fn of_object(object: &Object<'_>) -> Self {
        Frame {
            open: object.start() + 1,
            close: object.end() - 1,
            members: object
                .properties
                .iter()
                .map(|prop| (prop.start(), prop.end()))
                .collect(),
        }
    }

    fn of_array(array: &Array<'_>) -> Self {
        Frame {
            open: array.start() + 1,
            close: array.end() - 1,
            members: array
                .elements
                .iter()
                .map(|item| (item.start(), item.end()))
                .collect(),
        }
    }
}

impl<'t> Editor<'t> {
    fn new(text: &'t str, root: &Node<'_>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = match root {
            Node::Object(object) => object.properties.first().map(|prop| prop.start()),
            Node::Array(array) => array.elements.first().map(|item| item.start()),
            Node::StringLit(_)
            | Node::NumberLit(_)
            | Node::BooleanLit(_)
            | Node::NullKeyword(_) => None,
        };
        // An empty document has no style of its own and gets the default.
        let unit = match first {
            None => Some("  ".to_owned()),
            Some(first) => {
                let gap = &text[root.start() + 1..first];
                gap.rfind('\n').map(|at| {
                    let indent = &gap[at + 1..];
                    if indent.is_empty() {
                        "  ".to_owned()
                    } else {
                        indent.to_owned()
                    }
                })
            }
        };
        Editor {
            text,
            newline,
            unit,
            spaced: text.contains(": ") || text.contains(", "),
            splices: Vec::new(),
        }
    }

    fn edit_value(&mut self, node: &Node<'_>, current: &Value, target: &Value) {
        if values_equal(current, target) {
            return;
        }
        match (node, current, target) {
            (Node::Object(object), Value::Object(current), Value::Object(target)) => {
                self.edit_object(object, current, target);
            }
            (Node::Array(array), Value::Array(current), Value::Array(target)) => {
                self.edit_array(array, current, target);
            }
            (
                Node::Object(_)
                | Node::Array(_)
                | Node::StringLit(_)
                | Node::NumberLit(_)
                | Node::BooleanLit(_)
                | Node::NullKeyword(_),
                _,
                _,
            ) => {
                let style = self.style_at(node.start());
                self.replace_range(node.start(), node.end(), render_value(target, &style));
            }
        }
    }

    fn edit_object(
        &mut self,
        object: &Object<'_>,
        current: &Map<String, Value>,
        target: &Map<String, Value>,
    ) {
        let frame = Frame::of_object(object);
        // Of a duplicate key the last one counts. A map, because objects may have a member per
        // task.
        let props: HashMap<&str, &Node<'_>> = object
            .properties
            .iter()
            .map(|prop| (prop.name.as_str(), &prop.value))
            .collect();
        for (key, wanted) in target {
            if let (Some(&node), Some(now)) = (props.get(key.as_str()), current.get(key)) {
                self.edit_value(node, now, wanted);
            }
        }
        let gone: Vec<bool> = object
            .properties
            .iter()
            .map(|prop| !target.contains_key(prop.name.as_str()))
            .collect();
        let style = self.inner_style(&frame);
        let colon = match object.properties.last() {
            Some(prop) => self.text[prop.name.end()..prop.value.start()].to_owned(),
            None if matches!(style, JsonLayout::Inline { spaced: false }) => ":".to_owned(),
            None => ": ".to_owned(),
        };
        let added = target
            .iter()
            .filter(|(key, _)| !current.contains_key(*key))
            .map(|(key, value)| {
                format!("{}{colon}{}", render_key(key), render_value(value, &style))
            })
            .collect();
        let end = frame.members.len();
        self.edit_members(&frame, &gone, vec![(end, added)]);
    }

    fn edit_array(&mut self, array: &Array<'_>, current: &[Value], target: &[Value]) {
        let frame = Frame::of_array(array);
        let plan = align_elements(current, target);
        for &(old, new) in &plan.kept {
            self.edit_value(&array.elements[old], &current[old], &target[new]);
        }
        let mut gone = vec![true; current.len()];
        for &(old, _) in &plan.kept {
            gone[old] = false;
        }
        let style = self.inner_style(&frame);
        let inserts = plan
            .inserted
            .into_iter()
            .map(|(before, items)| {
                (
                    before,
                    items
                        .into_iter()
                        .map(|new| render_value(&target[new], &style))
                        .collect(),
                )
            })
            .collect();
        self.edit_members(&frame, &gone, inserts);
    }

    /// Removes members and inserts texts before the given positions.
    fn edit_members(&mut self, frame: &Frame, gone: &[bool], inserts: Vec<(usize, Vec<String>)>) {
        let inserts: Vec<(usize, Vec<String>)> = inserts
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty())
            .collect();
        let survivors: Vec<usize> = (0..gone.len()).filter(|&index| !gone[index]).collect();
        if survivors.is_empty() {
            let texts: Vec<String> = inserts.into_iter().flat_map(|(_, texts)| texts).collect();
            if texts.is_empty() {
                if !gone.is_empty() {
                    self.replace_range(frame.open, frame.close, String::new());
                }
                return;
            }
            let (lead, separator, tail) = self.member_spacing(frame);
            let all = format!("{lead}{}{tail}", texts.join(&separator));
            self.replace_range(frame.open, frame.close, all);
            return;
        }
        let first = survivors[0];
        if first > 0 {
            self.replace_range(frame.members[0].0, frame.members[first].0, String::new());
        }
        let mut index = first + 1;
        while index < gone.len() {
            let from = index;
            while index < gone.len() && gone[index] {
                index += 1;
            }
            if index > from {
                self.replace_range(
                    frame.members[from - 1].1,
                    frame.members[index - 1].1,
                    String::new(),
                );
            }
            index += 1;
        }
        let (_, separator, _) = self.member_spacing(frame);
        for (before, texts) in inserts {
            // Attach to the nearest survivor in front, else before the first one.
            match survivors.partition_point(|&index| index < before) {
                behind @ 1.. => {
                    let at = frame.members[survivors[behind - 1]].1;
                    let texts: String = texts
                        .iter()
                        .map(|text| format!("{separator}{text}"))
                        .collect();
                    self.replace_range(at, at, texts);
                }
                0 => {
                    let at = frame.members[first].0;
                    let texts: String = texts
                        .iter()
                        .map(|text| format!("{text}{separator}"))
                        .collect();
                    self.replace_range(at, at, texts);
                }
            }
        }
    }

    /// Returns the texts before the first member, between two members, and after the last one.
    fn member_spacing(&self, frame: &Frame) -> (String, String, String) {
        if let (Some(first), Some(last)) = (frame.members.first(), frame.members.last()) {
            let lead = self.text[frame.open..first.0].to_owned();
            let tail = self.text[last.1..frame.close].to_owned();
            let separator = match frame.members.get(1) {
                Some(second) => self.text[first.1..second.0].to_owned(),
                None if lead.contains('\n') => format!(",{lead}"),
                None if self.spaced => ", ".to_owned(),
                None => ",".to_owned(),
            };
            return (lead, separator, tail);
        }
        match self.style_at(frame.open) {
            JsonLayout::Lines {
                indent,
                unit,
                newline,
            } => (
                format!("{newline}{indent}{unit}"),
                format!(",{newline}{indent}{unit}"),
                format!("{newline}{indent}"),
            ),
            JsonLayout::Inline { spaced } => {
                let separator = if spaced { ", " } else { "," };
                (String::new(), separator.to_owned(), String::new())
            }
        }
    }

    /// Returns the style of a new member inside a container.
    fn inner_style(&self, frame: &Frame) -> JsonLayout {
        match frame.members.first() {
            Some(first) if !self.text[frame.open..first.0].contains('\n') => JsonLayout::Inline {
                spaced: self.spaced,
            },
            Some(first) => self.style_at(first.0),
            None => match self.style_at(frame.open) {
                JsonLayout::Lines {
                    indent,
                    unit,
                    newline,
                } => JsonLayout::Lines {
                    indent: format!("{indent}{unit}"),
                    unit,
                    newline,
                },
                inline @ JsonLayout::Inline { .. } => inline,
            },
        }
    }

    /// Returns the style at an offset: the indent of its line.
    fn style_at(&self, offset: usize) -> JsonLayout {
        let Some(unit) = &self.unit else {
            return JsonLayout::Inline {
                spaced: self.spaced,
            };
        };
        let line = &self.text[self.text[..offset].rfind('\n').map_or(0, |at| at + 1)..];
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        JsonLayout::Lines {
            indent: indent.to_owned(),
            unit: unit.clone(),
            newline: self.newline.to_owned(),
        }
    }

    fn replace_range(&mut self, start: usize, end: usize, insert: String) {
        self.splices.push(TextEdit { start, end, insert });
    }

    fn finish(mut self) -> String {
        // The sort is stable: texts inserted at one place keep their order.
        self.splices
            .sort_by_key(|splice| (splice.start, splice.end));
        let mut out = String::with_capacity(self.text.len() + 256);
        let mut done = 0;
        for splice in &self.splices {
            out.push_str(&self.text[done..splice.start]);
            out.push_str(&splice.insert);
            done = splice.end;
        }
        out.push_str(&self.text[done..]);
        out
    }
}

/// Pairs of old and new elements that stay, and new elements by the old position they precede.
#[derive(Debug, Default, PartialEq)]
struct Alignment {
    kept: Vec<(usize, usize)>,
    inserted: Vec<(usize, Vec<usize>)>,
}

/// Pairs the elements of two arrays: equal ones first, the rest in order.
fn align_elements(old: &[Value], new: &[Value]) -> Alignment {
    let mut plan = Alignment::default();
    let shorter = old.len().min(new.len());
    let prefix = (0..shorter)
        .take_while(|&at| values_equal(&old[at], &new[at]))
        .count();
    let suffix = (0..shorter - prefix)
        .take_while(|&at| values_equal(&old[old.len() - 1 - at], &new[new.len() - 1 - at]))
        .count();
    plan.kept.extend((0..prefix).map(|at| (at, at)));
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
    let scalars = old[prefix..old_end]
        .iter()
        .chain(&new[prefix..new_end])
        .all(|value| !value.is_object() && !value.is_array());
    if scalars && (old_end - prefix) != (new_end - prefix) {
        align_scalars(old, new, prefix..old_end, prefix..new_end, &mut plan);
    } else {
        let pairs = (old_end - prefix).min(new_end - prefix);
        plan.kept
            .extend((0..pairs).map(|at| (prefix + at, prefix + at)));
        let rest: Vec<usize> = (prefix + pairs..new_end).collect();
        if !rest.is_empty() {
            plan.inserted.push((prefix + pairs, rest));
        }
    }
    plan.kept
        .extend((0..suffix).map(|at| (old_end + at, new_end + at)));
    plan
}

/// Aligns lists of scalars such as ids: a remaining one keeps its place, others are removed and
/// added.
fn align_scalars(
    old: &[Value],
    new: &[Value],
    old_range: std::ops::Range<usize>,
    new_range: std::ops::Range<usize>,
    plan: &mut Alignment,
) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for index in old_range.clone().rev() {
        places
            .entry(old[index].to_string())
            .or_default()
            .push(index);
    }
    let mut at = old_range.start;
    for index in new_range {
        let waiting = places.entry(new[index].to_string()).or_default();
        while waiting.last().is_some_and(|&place| place < at) {
            waiting.pop();
        }
        match waiting.pop() {
            Some(place) => {
                plan.kept.push((place, index));
                at = place + 1;
            }
            None => match plan.inserted.last_mut() {
                Some((before, items)) if *before == at => items.push(index),
                Some(_) | None => plan.inserted.push((at, vec![index])),
            },
        }
    }
}
