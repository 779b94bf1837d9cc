//! The small parsers: times, splices, transition lines, settings, measured values, paths into memory files.

use bowline_formats::json::JsonDocument;
use bowline_formats::memory::path;
use bowline_formats::memory::shared_context::SKELETON;
use bowline_formats::thinking_settings::{core_values, quality_standards};
use bowline_formats::transition::Transition;
use bowline_machines::Timestamp;
use bowline_statefiles::splice::{TextSplice, apply_splices, compute_splices, invert_splices};

/// A time in any spelling.
pub(crate) fn time(data: &[u8]) {
    use bowline_formats::time::{format_civil, format_utc, parse_time};
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Some(at) = parse_time(text) {
        assert_eq!(parse_time(&format_utc(at)), Some(at), "{text}");
        assert_eq!(parse_time(&format_civil(at)), Some(at), "{text}");
    }
}

/// Two texts, and splices as a damaged journal may hold them.
pub(crate) fn splice(data: &[u8]) {
    let Some([before, after, foreign]) = crate::parts::<3>(data) else {
        return;
    };
    let made = compute_splices(before, after);
    assert_eq!(apply_splices(before, &made).as_deref(), Ok(after));
    assert_eq!(
        apply_splices(after, &invert_splices(&made)).as_deref(),
        Ok(before)
    );
    if let Ok(foreign) = serde_json::from_str::<Vec<TextSplice>>(foreign) {
        let back = invert_splices(&foreign);
        if let Ok(after) = apply_splices(before, &foreign) {
            assert_eq!(apply_splices(&after, &back).as_deref(), Ok(before));
        }
    }
}

/// A transition line.
pub(crate) fn transition(data: &[u8]) {
    if let Ok(line) = serde_json::from_slice::<Transition>(data)
        && let Ok(text) = serde_json::to_string(&line)
    {
        let again = serde_json::from_str::<Transition>(&text);
        assert_eq!(again.ok().as_ref(), Some(&line), "{text}");
    }
}

/// The YAML files that thinking runs may have.
pub(crate) fn settings(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        core_values(text).ok();
        quality_standards(text).ok();
    }
}

/// What was measured, as somebody else's program leaves it.
pub(crate) fn engagement(data: &[u8]) {
    let Some([file, wanted]) = crate::parts::<2>(data) else {
        return;
    };
    let wanted = (!wanted.is_empty()).then_some(wanted);
    if let Ok(read) = bowline_formats::engagement::read_engagement(file, wanted) {
        assert!(read.actual.is_finite(), "{file}");
        assert!(read.target.is_none_or(f64::is_finite), "{file}");
        assert!(wanted.is_none_or(|wanted| wanted == read.metric), "{file}");
    }
}

/// A document, a path into it, and a value to put there or to append.
pub(crate) fn memory_path(data: &[u8]) {
    let Some([document, place, value]) = crate::parts::<3>(data) else {
        return;
    };
    let Ok(document) = JsonDocument::from_text(document.to_owned()) else {
        return;
    };
    path::get_value(document.value(), place).ok();
    let new = path::value_of(value);
    let mut root = document.value().clone();
    match path::set_value(&SKELETON, &mut root, place, new.clone(), Timestamp(0)) {
        Ok(()) => assert_eq!(path::get_value(&root, place).ok(), Some(&new), "{place}"),
        Err(_) => assert_eq!(&root, document.value(), "a refusal changes nothing"),
    }
    let mut root = document.value().clone();
    match path::append_value(&SKELETON, &mut root, place, new.clone(), Timestamp(0)) {
        Ok(()) => {
            let list = path::get_value(&root, place)
                .ok()
                .and_then(|list| list.as_array());
            assert_eq!(list.and_then(|list| list.last()), Some(&new), "{place}");
        }
        Err(_) => assert_eq!(&root, document.value(), "a refusal changes nothing"),
    }
}
