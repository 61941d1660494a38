//! Reading on after a mistake of shape.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::ProblemKind;

/// What a reader's words say.
pub(super) fn kind_of(words: &str) -> ProblemKind {
    if let Some(rest) = words.strip_prefix("unknown field `") {
        let (key, known) = rest.rsplit_once("`, expected ").unwrap_or((rest, ""));
        let known = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        return ProblemKind::UnknownKey { key: key.to_owned(), known };
    }
    let missing = words.strip_prefix("missing field `");
    match missing.and_then(|rest| rest.strip_suffix('`')) {
        Some(key) => ProblemKind::MissingKey(key.to_owned()),
        None => ProblemKind::WrongType(words.to_owned()),
    }
}

/// Changes the table so that a reader who found this at `span` gets further: an unknown key goes, and
/// something empty stands for what is missing or of another type. Whether it could be done.
pub(super) fn mend(table: &mut DeTable<'_>, kind: &ProblemKind, span: &Range<usize>) -> bool {
    match kind {
        ProblemKind::UnknownKey { .. } => remove_key(table, span.start),
        ProblemKind::MissingKey(key) => {
            // The two lists that must be given; everything else that must is text.
            let list = matches!(key.as_str(), "nodes" | "credential");
            let value =
                if list { DeValue::Array(DeArray::new()) } else { DeValue::String("".into()) };
            let within = match value_at(table, span) {
                None => table,
                Some(DeValue::Table(within)) => within,
                Some(_) => return false,
            };
            let at = |value| Spanned::new(span.clone(), value);
            within.insert(at(Cow::Owned(key.clone())), Spanned::new(span.clone(), value));
            true
        }
        ProblemKind::WrongType(words) => {
            let (_, expected) = words.rsplit_once("expected ").unwrap_or_default();
            let stand_in = match expected {
                "a string" => DeValue::String("".into()),
                "a sequence" => DeValue::Array(DeArray::new()),
                "a map" => DeValue::Table(DeTable::new()),
                "a boolean" => DeValue::Boolean(true),
                _ => return false,
            };
            value_at(table, span).map(|value| *value = stand_in).is_some()
        }
        _ => false,
    }
}

fn value_at<'t, 'i>(
    table: &'t mut DeTable<'i>,
    span: &Range<usize>,
) -> Option<&'t mut DeValue<'i>> {
    table.iter_mut().find_map(|(_, value)| within(value, span))
}

fn within<'t, 'i>(
    value: &'t mut Spanned<DeValue<'i>>,
    span: &Range<usize>,
) -> Option<&'t mut DeValue<'i>> {
    if value.span() == *span {
        return Some(value.get_mut());
    }
    match value.get_mut() {
        DeValue::Table(table) => value_at(table, span),
        DeValue::Array(items) => items.iter_mut().find_map(|item| within(item, span)),
        _ => None,
    }
}

/// Takes out the key that begins at `offset`; whether there was one.
fn remove_key(table: &mut DeTable<'_>, offset: usize) -> bool {
    let key = table.keys().find(|key| key.span().start == offset).cloned();
    if let Some(key) = key {
        return table.remove(&key).is_some();
    }
    let mut values = table.iter_mut().map(|(_, value)| value.get_mut());
    values.any(|value| remove_from(value, offset))
}

fn remove_from(value: &mut DeValue<'_>, offset: usize) -> bool {
    match value {
        DeValue::Table(table) => remove_key(table, offset),
        DeValue::Array(items) => items.iter_mut().any(|item| remove_from(item.get_mut(), offset)),
        _ => false,
    }
}
