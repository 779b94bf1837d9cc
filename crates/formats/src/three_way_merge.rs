//! Measures the distance between two documents, and merges two edits of one version.

use crate::json::values_equal;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Returns the number of leaves that differ. Lists of plain values are compared without order.
pub fn count_differences(a: &Value, b: &Value) -> usize {
    if values_equal(a, b) {
        return 0;
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let theirs = a.iter().map(|(key, a)| {
                b.get(key)
                    .map_or_else(|| count_leaves(a), |b| count_differences(a, b))
            });
            let ours = b
                .iter()
                .filter(|(key, _)| !a.contains_key(*key))
                .map(|(_, b)| count_leaves(b));
            theirs.chain(ours).sum()
        }
        (Value::Array(a), Value::Array(b)) => match (index_by_id(a), index_by_id(b)) {
            (Some(a), Some(b)) => {
                let changed = a.iter().map(|(id, a)| {
                    b.get(id)
                        .map_or_else(|| count_leaves(a), |b| count_differences(a, b))
                });
                let added = b
                    .iter()
                    .filter(|(id, _)| !a.contains_key(*id))
                    .map(|(_, b)| count_leaves(b));
                changed.chain(added).sum()
            }
            (Some(_) | None, _) => {
                // Lists mostly grow at their end: the common prefix and suffix need not be counted.
                let (a, b) = without_common_ends(a, b);
                let (mut ours, mut shared) = (count_items(a), 0);
                for item in b {
                    if let Some(count) = ours.get_mut(&item.to_string())
                        && *count > 0
                    {
                        *count -= 1;
                        shared += 1;
                    }
                }
                a.len() + b.len() - 2 * shared
            }
        },
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => count_leaves(a).max(count_leaves(b)),
    }
}

/// Returns true if every item that `next` added to a list of `before` is in that list of `now`.
pub fn contains_added_items(before: &Value, next: &Value, now: &Value) -> bool {
    match next {
        Value::Object(next) => next
            .iter()
            .all(|(key, next)| contains_added_items(&before[key], next, &now[key])),
        Value::Array(next) => {
            let items = |list: &Value| {
                list.as_array()
                    .map_or_else(BTreeMap::new, |it| count_items(it))
            };
            let (had, has) = (items(before), items(now));
            let count =
                |of: &BTreeMap<String, usize>, item: &str| of.get(item).copied().unwrap_or(0);
            count_items(next)
                .iter()
                .all(|(item, wanted)| *wanted <= count(&had, item) || *wanted <= count(&has, item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Applies to `theirs` everything that `ours` changed since `base` and `theirs` did not.
pub fn merge_json(base: &Value, ours: &Value, theirs: &Value) -> Value {
    if values_equal(base, theirs) {
        return ours.clone();
    }
    if values_equal(base, ours) || values_equal(ours, theirs) {
        return theirs.clone();
    }
    match (base, ours, theirs) {
        (Value::Object(base), Value::Object(ours), Value::Object(theirs)) => {
            Value::Object(merge_maps(base, ours, theirs))
        }
        (Value::Array(base), Value::Array(ours), Value::Array(theirs)) => {
            match (index_by_id(base), index_by_id(ours), index_by_id(theirs)) {
                (Some(base_by), Some(ours_by), Some(theirs_by)) => {
                    merge_keyed(&base_by, ours, &ours_by, theirs, &theirs_by)
                }
                (Some(_) | None, _, _) => merge_bags(base, ours, theirs),
            }
        }
        // Both sides added it independently.
        (Value::Null, Value::Object(_), Value::Object(_)) => {
            merge_json(&Value::Object(Map::new()), ours, theirs)
        }
        (Value::Null, Value::Array(_), Value::Array(_)) => {
            merge_json(&Value::Array(Vec::new()), ours, theirs)
        }
        // Both changed the same leaf: the later edit wins.
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
            _,
        ) => theirs.clone(),
    }
}

fn without_common_ends<'v>(a: &'v [Value], b: &'v [Value]) -> (&'v [Value], &'v [Value]) {
    let head = a
        .iter()
        .zip(b)
        .take_while(|(a, b)| values_equal(a, b))
        .count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| values_equal(a, b))
        .count();
    (&a[..a.len() - tail], &b[..b.len() - tail])
}

fn merge_maps(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (key, theirs) in theirs {
        match (base.get(key), ours.get(key)) {
            (Some(base), Some(ours)) => {
                drop(merged.insert(key.clone(), merge_json(base, ours, theirs)))
            }
            // We removed it and they left it unchanged.
            (Some(base), None) if values_equal(base, theirs) => {}
            (None, Some(ours)) => {
                drop(merged.insert(key.clone(), merge_json(&Value::Null, ours, theirs)));
            }
            (Some(_) | None, None) => drop(merged.insert(key.clone(), theirs.clone())),
        }
    }
    for (key, ours) in ours {
        if !base.contains_key(key) && !theirs.contains_key(key) {
            merged.insert(key.clone(), ours.clone());
        }
    }
    merged
}

fn merge_keyed(
    base_by: &BTreeMap<String, &Value>,
    ours: &[Value],
    ours_by: &BTreeMap<String, &Value>,
    theirs: &[Value],
    theirs_by: &BTreeMap<String, &Value>,
) -> Value {
    let mut merged = Vec::new();
    for item in theirs {
        let id = item_id(item).unwrap_or_default();
        match (base_by.get(&id), ours_by.get(&id)) {
            (Some(base), Some(ours)) => merged.push(merge_json(base, ours, item)),
            (Some(base), None) if values_equal(base, item) => {}
            (Some(_) | None, _) => merged.push(item.clone()),
        }
    }
    for item in ours {
        let id = item_id(item).unwrap_or_default();
        if !base_by.contains_key(&id) && !theirs_by.contains_key(&id) {
            merged.push(item.clone());
        }
    }
    Value::Array(merged)
}

fn merge_bags(base: &[Value], ours: &[Value], theirs: &[Value]) -> Value {
    let (in_base, in_ours) = (count_items(base), count_items(ours));
    let mut removed: BTreeMap<String, usize> = BTreeMap::new();
    for (item, &count) in &in_base {
        let left = in_ours.get(item).copied().unwrap_or(0);
        removed.insert(item.clone(), count.saturating_sub(left));
    }
    let mut merged = Vec::new();
    for item in theirs {
        match removed.get_mut(&item.to_string()) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => merged.push(item.clone()),
        }
    }
    // Elements that they added beyond those of the base.
    let mut present = count_items(theirs);
    for (item, count) in &mut present {
        *count = count.saturating_sub(in_base.get(item).copied().unwrap_or(0));
    }
    let mut known = in_base;
    for item in ours {
        let text = item.to_string();
        let taken = |bag: &mut BTreeMap<String, usize>| match bag.get_mut(&text) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            Some(_) | None => false,
        };
        // An element added on both sides is kept once.
        if !taken(&mut known) && !taken(&mut present) {
            merged.push(item.clone());
        }
    }
    Value::Array(merged)
}

/// Indexes the elements by id; `None` unless every element has one of its own.
fn index_by_id(items: &[Value]) -> Option<BTreeMap<String, &Value>> {
    let mut by = BTreeMap::new();
    for item in items {
        if by.insert(item_id(item)?, item).is_some() {
            return None;
        }
    }
    Some(by)
}

fn item_id(item: &Value) -> Option<String> {
    let object = item.as_object()?;
    ["id", "task_id", "step_id"]
        .iter()
        .find_map(|key| object.get(*key))
        .map(Value::to_string)
}

fn count_items(items: &[Value]) -> BTreeMap<String, usize> {
    let mut bag = BTreeMap::new();
    for item in items {
        *bag.entry(item.to_string()).or_default() += 1;
    }
    bag
}

fn count_leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_leaves).sum::<usize>().max(1),
        Value::Object(map) => map.values().map(count_leaves).sum::<usize>().max(1),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(base: &Value, ours: &Value, theirs: &Value, expected: &Value) {
        assert_eq!(&merge_json(base, ours, theirs), expected);
    }

    #[test]
    fn an_item_counts_as_added_where_its_own_list_has_it() {
        let before = json!({"log": ["a"], "at": 1});
        let next = json!({"log": ["a", "b"], "at": 2});
        let added = |now: Value| contains_added_items(&before, &next, &now);
        assert!(added(json!({"log": ["b"], "at": 3})));
        assert!(added(json!({"log": ["c", "b", "a"]})));
        for now in [
            json!({"log": ["a"], "at": 2}),
            json!({"at": 2}),
            json!({"other": ["b"], "log": []}),
            json!(null),
        ] {
            assert!(!added(now.clone()), "{now}");
        }
        let twice = json!({"log": ["a", "a"]});
        assert!(!contains_added_items(&before, &twice, &before));
        assert!(contains_added_items(&json!({}), &twice, &twice));
    }

    #[test]
    fn each_side_keeps_what_it_changed() {
        check(
            &json!({"a": 1, "b": 1}),
            &json!({"a": 2, "b": 1}),
            &json!({"a": 1, "b": 3}),
            &json!({"a": 2, "b": 3}),
        );
        check(
            &json!({"a": 1}),
            &json!({}),
            &json!({"a": 1, "b": 3}),
            &json!({"b": 3}),
        );
        check(
            &json!({"a": 1}),
            &json!({"a": 1, "c": 2}),
            &json!({"a": 2}),
            &json!({"a": 2, "c": 2}),
        );
        check(&json!(1), &json!(2), &json!(3), &json!(3));
    }

    #[test]
    fn lists_of_ids_are_joined_as_bags() {
        check(
            &json!(["a", "b"]),
            &json!(["b", "c"]),
            &json!(["a", "b", "d"]),
            &json!(["b", "d", "c"]),
        );
        check(&json!([]), &json!(["c"]), &json!(["c"]), &json!(["c"]));
        check(
            &json!(["x"]),
            &json!(["x", "x"]),
            &json!(["x", "y"]),
            &json!(["x", "y", "x"]),
        );
    }

    #[test]
    fn lists_of_things_with_an_id_are_joined_by_it() {
        let base = json!([{"id": 1, "s": "a"}, {"id": 2, "s": "a"}]);
        let ours = json!([{"id": 1, "s": "b"}, {"id": 2, "s": "a"}, {"id": 3, "s": "a"}]);
        let theirs = json!([{"id": 1, "s": "a"}, {"id": 2, "s": "c"}]);
        check(
            &base,
            &ours,
            &theirs,
            &json!([{"id": 1, "s": "b"}, {"id": 2, "s": "c"}, {"id": 3, "s": "a"}]),
        );
    }

    #[test]
    fn the_edited_version_is_the_nearest_one() {
        let first = json!({"n": 1, "list": ["a"]});
        let second = json!({"n": 2, "list": ["a", "b"]});
        let edited = json!({"n": 1, "list": ["a"], "note": "by hand"});
        assert!(count_differences(&edited, &first) < count_differences(&edited, &second));
    }

    fn any_list() -> impl Strategy<Value = Value> {
        prop::collection::vec("[a-d]", 0..6).prop_map(Value::from)
    }

    proptest! {
        #[test]
        fn merging_with_an_unchanged_side_gives_the_other(base in any_list(), other in any_list()) {
            prop_assert_eq!(merge_json(&base, &other, &base), other.clone());
            prop_assert_eq!(merge_json(&base, &base, &other), other.clone());
            prop_assert_eq!(count_differences(&base, &other), count_differences(&other, &base));
        }

        #[test]
        fn nothing_we_added_is_missing(base in any_list(), added in "[e-h]", theirs in any_list()) {
            let mut ours = base.as_array().cloned().unwrap_or_default();
            ours.push(added.clone().into());
            let merged = merge_json(&base, &Value::from(ours), &theirs);
            prop_assert!(merged.as_array().is_some_and(|items| items.contains(&Value::from(added))));
        }
    }
}
