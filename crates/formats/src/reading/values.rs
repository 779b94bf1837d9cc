//! The less common values: flags, times that must be there, lists with bad elements, open objects.

use super::{Reading, shown};
use crate::finding::Severity;
use crate::time;
use bowline_machines::Timestamp;
use bowline_words::message::{Found, Kind};
use serde_json::{Map, Value};

/// The largest whole number every JSON reader keeps exactly.
pub(crate) const WHOLE_MAX: u64 = (1 << 53) - 1;

impl<'d> Reading<'d> {
    /// `true` or `false`; `default` where it is missing or something else.
    pub fn flag(&mut self, pointer: &str, default: bool) -> bool {
        match self.get(pointer) {
            Some(Value::Bool(flag)) => *flag,
            // A text "true" is not taken for true: flags open gates.
            found => {
                self.complain(pointer, found, Kind::Bool, Value::from(default));
                default
            }
        }
    }

    /// A time that must be there; `default` where it is missing or no time.
    pub fn time_or(
        &mut self,
        pointer: &str,
        default: Timestamp,
        spell: impl Fn(Timestamp) -> String,
    ) -> Timestamp {
        let found = self.get(pointer);
        if let Some(Value::String(text)) = found {
            if let Some(time) = time::parse(text) {
                return time;
            }
            let message = Found::NotATime {
                text: shown(text).into(),
            };
            let value = Value::from(spell(default));
            self.mend(Severity::Error, "bad_time", pointer, message, value);
            return default;
        }
        self.complain(pointer, found, Kind::Time, Value::from(spell(default)));
        default
    }

    /// A field that may be `null` but should be there.
    pub fn expect(&mut self, pointer: &str) {
        if self.get(pointer).is_none() {
            let message = Found::Missing;
            self.mend(
                Severity::Note,
                "missing_field",
                pointer,
                message,
                Value::Null,
            );
        }
    }

    /// A whole number from 0 that must be there; `default` where it is missing or `null`.
    pub fn count_or(&mut self, pointer: &str, default: u32) -> u32 {
        self.count(pointer).unwrap_or_else(|| {
            self.missing(pointer, default.into());
            default
        })
    }

    /// A whole number from 0 that need not be there: missing is `default`.
    pub fn optional_count(&mut self, pointer: &str, default: u32) -> u32 {
        match self.get(pointer) {
            None => default,
            Some(_) => self.count_or(pointer, default),
        }
    }

    /// A whole number from 0 that may be large, or nothing.
    pub fn whole(&mut self, pointer: &str) -> Option<u64> {
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
        self.complain(pointer, Some(found), Kind::WholeNumber, Value::from(meant));
        Some(meant)
    }

    /// A whole number from 0 that may be large and must be there; `default` where it is missing or `null`.
    pub fn whole_or(&mut self, pointer: &str, default: u64) -> u64 {
        self.whole(pointer).unwrap_or_else(|| {
            self.missing(pointer, default.into());
            default
        })
    }

    /// The members of an object whose keys are the user's own.
    pub fn open(&mut self, pointer: &str) -> Map<String, Value> {
        self.object(pointer).cloned().unwrap_or_default()
    }

    /// A list of objects; missing is empty. The indices of those that are objects. The others are found, and [`Reading::retain`] takes them out.
    pub fn objects(&mut self, pointer: &str) -> Vec<usize> {
        let mut good = Vec::new();
        for (index, item) in self.list(pointer).iter().enumerate() {
            if item.is_object() {
                good.push(index);
                continue;
            }
            let message = Found::ShouldBeIs {
                wanted: Kind::Object,
                is: super::kind(item),
            };
            self.leave_out(&format!("{pointer}/{index}"), message);
        }
        good
    }

    /// Keeps only these elements of a list in the repaired document. To be called when all of them were read, because
    /// the places of later elements change.
    pub fn retain(&mut self, pointer: &str, good: &[usize]) {
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
