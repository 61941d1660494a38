use super::super::ComposeError;

/// A string that the server reads as exactly this text, whatever it looks like: unquoted, `4e2x` would be
/// a number, `true` a boolean and `2026-06-25` a date. `field` is what an error calls it.
pub(super) fn quoted(field: &str, text: &str) -> Result<String, ComposeError> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quote(&mut quoted, field, text)?;
    Ok(quoted)
}

/// The same at the end of another text.
pub(super) fn quote(into: &mut String, field: &str, text: &str) -> Result<(), ComposeError> {
    into.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        let (plain, special) = rest.split_at(at);
        into.push_str(plain);
        let mut letters = special.chars();
        match letters.next() {
            Some('\t') => into.push_str("\\t"),
            Some('\n') => into.push_str("\\n"),
            Some('\r') => into.push_str("\\r"),
            Some(letter @ ('"' | '\\')) => into.extend(['\\', letter]),
            _ => {
                let why = "a control character, which a server's configuration can't hold";
                return Err(ComposeError::Value { field: field.to_owned(), why });
            }
        }
        rest = letters.as_str();
    }
    into.push_str(rest);
    into.push('"');
    Ok(())
}
