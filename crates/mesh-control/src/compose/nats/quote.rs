use super::super::ComposeError;

/// A string that the server reads as exactly this text, whatever it looks like: unquoted, `4e2x` would be
/// a number, `true` a boolean and `2026-06-25` a date. `field` is what an error calls it.
pub(super) fn quoted(field: &str, text: &str) -> Result<String, ComposeError> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            _ if letter.is_control() => {
                let why = "a control character, which a server's configuration can't hold";
                return Err(ComposeError::Value { field: field.to_owned(), why });
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    Ok(quoted)
}
