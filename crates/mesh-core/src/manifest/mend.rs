//! Reading on after a mistake of shape.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

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
pub(super) fn mend<'i>(table: &mut DeTable<'i>, kind: &ProblemKind, span: &Range<usize>) -> bool {
    match kind {
        ProblemKind::UnknownKey { .. } => remove_key(table, span.start),
        ProblemKind::MissingKey(key) => {
            // The two lists and the number that must be given; everything else that must is text.
            let value = match key.as_str() {
                "nodes" | "credential" => DeValue::Array(DeArray::new()),
                "max" => DeValue::Integer(DeInteger::default()),
                _ => DeValue::String("".into()),
            };
            // Of no bytes, so that it isn't found in the place of the table itself.
            let nowhere = span.end..span.end;
            let key = Spanned::new(nowhere.clone(), Cow::Owned(key.clone()));
            let value = Spanned::new(nowhere, value);
            let insert = |table: &mut DeTable<'i>| {
                table.insert(key.clone(), value.clone());
                true
            };
            let mut into = |found: &mut DeValue<'i>| match found {
                DeValue::Table(table) => insert(table),
                _ => false,
            };
            change(table, span, &mut into) || insert(table)
        }
        ProblemKind::WrongType(words) => {
            let (_, expected) = words.rsplit_once("expected ").unwrap_or_default();
            let stand_in = match expected {
                "a string" => DeValue::String("".into()),
                "a sequence" => DeValue::Array(DeArray::new()),
                "a map" => DeValue::Table(DeTable::new()),
                "a boolean" => DeValue::Boolean(true),
                "i64" => DeValue::Integer(DeInteger::default()),
                _ => return false,
            };
            change(table, span, &mut |found| {
                *found = stand_in.clone();
                true
            })
        }
        _ => false,
    }
}

/// Hands out the values that take these bytes, the outermost first, until one is changed: a list of one
/// `[[table]]` takes the same bytes as the table. Whether one was.
fn change<'i>(
    table: &mut DeTable<'i>,
    span: &Range<usize>,
    change_it: &mut impl FnMut(&mut DeValue<'i>) -> bool,
) -> bool {
    table.iter_mut().any(|(_, value)| change_in(value, span, change_it))
}

fn change_in<'i>(
    value: &mut Spanned<DeValue<'i>>,
    span: &Range<usize>,
    change_it: &mut impl FnMut(&mut DeValue<'i>) -> bool,
) -> bool {
    if value.span() == *span && change_it(value.get_mut()) {
        return true;
    }
    match value.get_mut() {
        DeValue::Table(table) => change(table, span, change_it),
        DeValue::Array(items) => items.iter_mut().any(|item| change_in(item, span, change_it)),
        _ => false,
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
