//! Getters for less common values: flags, required times, lists with invalid elements, open
//! objects.

use super::{DocumentReader, shorten_text};
use crate::finding::Severity;
use crate::time;
use bowline_machines::Timestamp;
use bowline_words::message::{FileFinding, Kind};
use serde_json::{Map, Value};

/// Largest whole number that every JSON reader keeps exactly.
pub(crate) const WHOLE_MAX: u64 = (1 << 53) - 1;

impl<'d> DocumentReader<'d> {
    /// Reads a boolean; `default` if it is missing or of another type.
    pub fn read_flag(&mut self, pointer: &str, default: bool) -> bool {
        match self.get(pointer) {
            Some(Value::Bool(flag)) => *flag,
            // A text "true" is not accepted as true: flags open gates.
            found => {
                self.replace_unusable(pointer, found, Kind::Bool, Value::from(default));
                default
            }
        }
    }

    /// Reads a required time; `default` if it is missing or invalid.
    pub fn read_time_or(
        &mut self,
        pointer: &str,
        default: Timestamp,
        spell: impl Fn(Timestamp) -> String,
    ) -> Timestamp {
        let found = self.get(pointer);
        if let Some(Value::String(text)) = found {
            if let Some(time) = time::parse_time(text) {
                return time;
            }
            let message = FileFinding::NotATime {
                text: shorten_text(text).into(),
            };
            let value = Value::from(spell(default));
            self.repair_value(Severity::Error, "bad_time", pointer, message, value);
            return default;
        }
        self.replace_unusable(pointer, found, Kind::Time, Value::from(spell(default)));
        default
    }

    /// Adds a finding if a field is missing, even though it may be `null`.
    pub fn expect_field(&mut self, pointer: &str) {
        if self.get(pointer).is_none() {
            let message = FileFinding::Missing;
            self.repair_value(
                Severity::Note,
                "missing_field",
                pointer,
                message,
                Value::Null,
            );
        }
    }

    /// Reads a required non-negative whole number; `default` if it is missing or `null`.
    pub fn read_count_or(&mut self, pointer: &str, default: u32) -> u32 {
        self.read_count(pointer).unwrap_or_else(|| {
            self.fill_missing(pointer, default.into());
            default
        })
    }

    /// Reads a non-negative whole number that may be missing; then it is `default`.
    pub fn read_optional_count(&mut self, pointer: &str, default: u32) -> u32 {
        match self.get(pointer) {
            None => default,
            Some(_) => self.read_count_or(pointer, default),
        }
    }

    /// Reads an optional non-negative whole number that may be large.
    pub fn read_whole(&mut self, pointer: &str) -> Option<u64> {
        let found = self.get(pointer)?;
        if found.is_null() {
            return None;
        }
        if let Some(number) = found.as_u64().filter(|&number| number <= WHOLE_MAX) {
            return Some(number);
        }
        let spelt = found.as_f64().filter(|number| number.fract() == 0.0);
        if let Some(number) = spelt.and_then(|number| format!("{number:.0}").parse().ok())
            && number <= WHOLE_MAX
        {
            return Some(number);
        }
        let meant = found
            .as_str()
            .and_then(|text| text.trim().parse().ok())
            .filter(|&number: &u64| number <= WHOLE_MAX)
            .unwrap_or(0);
        self.replace_unusable(pointer, Some(found), Kind::WholeNumber, Value::from(meant));
        Some(meant)
    }

    /// Reads a required non-negative whole number that may be large; `default` if it is missing or
    /// `null`.
    pub fn read_whole_or(&mut self, pointer: &str, default: u64) -> u64 {
        self.read_whole(pointer).unwrap_or_else(|| {
            self.fill_missing(pointer, default.into());
            default
        })
    }

    /// Reads an object whose keys are chosen by users.
    pub fn read_open_object(&mut self, pointer: &str) -> Map<String, Value> {
        self.read_object(pointer).cloned().unwrap_or_default()
    }

    /// Reads a list of objects and returns the indices of the elements that are objects; a missing
    /// list is empty. Other elements are findings, and [`DocumentReader::retain_items`] removes
    /// them.
    pub fn read_objects(&mut self, pointer: &str) -> Vec<usize> {
        let mut good = Vec::new();
        for (index, item) in self.read_list(pointer).iter().enumerate() {
            if item.is_object() {
                good.push(index);
                continue;
            }
            let message = FileFinding::ShouldBeIs {
                wanted: Kind::Object,
                is: super::value_kind(item),
            };
            self.leave_out(&format!("{pointer}/{index}"), message);
        }
        good
    }

    /// Keeps only the elements at these indices in the repaired document. Call it after all of them
    /// were read, because the indices of later elements change.
    pub fn retain_items(&mut self, pointer: &str, good: &[usize]) {
        let Some(Value::Array(items)) = self.fixed.pointer_mut(pointer) else {
            return;
        };
        if good.len() == items.len() {
            return;
        }
        let mut index = 0;
        items.retain(|_| {
            let keep = good.binary_search(&index).is_ok();
            index += 1;
            keep
        });
    }
}
