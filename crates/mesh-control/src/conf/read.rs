//! The grammar. It takes nothing that nats-server's own reader would not, and reads it alike.

use std::collections::HashSet;

use super::scan::{Scan, is_newline, is_space};
use super::{ConfError, Map, Node, Value};

/// How deep lists and maps may lie in each other.
const MAX_DEPTH: u32 = 32;

/// Whole files. What is between keys: the end of a line, a comma or a semicolon.
pub(super) fn file(text: &str) -> Result<Map, ConfError> {
    let mut scan = Scan::new(text);
    let mut map = Map::default();
    loop {
        scan.gap();
        if scan.peek().is_none() {
            return unique(map);
        }
        let line = scan.line();
        let key = key(&mut scan)?;
        // Here, and not inside of maps, the value begins on the line of the separator.
        scan.take_while(is_space);
        if separator(&mut scan) {
            scan.blanks();
        }
        insert(&mut map, &mut scan, line, key, 0)?;
        scan.blanks();
        let ended = scan.comment()
            || scan.take(',')
            || scan.take(';')
            || scan.peek().is_none_or(is_newline);
        if !ended {
            return Err(scan.expected("the end of the line"));
        }
    }
}

/// No key twice: the server would take the last one, and let the others pass.
fn unique(map: Map) -> Result<Map, ConfError> {
    let mut seen = HashSet::with_capacity(map.len());
    let again = map.iter().find(|(key, _)| !seen.insert(key.to_ascii_lowercase()));
    if let Some((key, node)) = again {
        let problem = format!("the key {key:?} stands in this map already (case does not count)");
        return Err(ConfError { line: node.line, column: 1, problem });
    }
    Ok(map)
}

fn insert(
    map: &mut Map,
    scan: &mut Scan<'_>,
    line: u32,
    key: String,
    depth: u32,
) -> Result<(), ConfError> {
    let value = value(scan, depth)?;
    map.0.push((key, Node { line, value }));
    Ok(())
}

fn key(scan: &mut Scan<'_>) -> Result<String, ConfError> {
    let quote = scan.peek().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        scan.next();
        // Nothing is escaped in a key.
        let key = scan.take_while(|c| c != quote && !c.is_control() && c != '\\');
        return if scan.take(quote) {
            Ok(key.to_owned())
        } else {
            Err(scan.expected("the end of the key"))
        };
    }
    let key = scan.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if key.is_empty() {
        return Err(scan.expected("a key"));
    }
    // Without a separator the server would take all that follows for the key, up to a space.
    if !scan.peek().is_some_and(|c| is_space(c) || is_separator(c)) {
        return Err(scan.expected("a space or a colon"));
    }
    if key.eq_ignore_ascii_case("include") {
        return Err(scan.error("another file can't be included: its changes would not be seen"));
    }
    Ok(key.to_owned())
}

fn is_separator(c: char) -> bool {
    matches!(c, ':' | '=')
}

fn separator(scan: &mut Scan<'_>) -> bool {
    scan.take(':') || scan.take('=')
}

fn value(scan: &mut Scan<'_>, depth: u32) -> Result<Value, ConfError> {
    if depth == MAX_DEPTH {
        return Err(scan.error(format!("lists and maps lie in each other {MAX_DEPTH} deep")));
    }
    match scan.peek() {
        Some('[') => list(scan, depth + 1).map(Value::List),
        Some('{') => map(scan, depth + 1).map(Value::Map),
        Some('"') => double_quoted(scan).map(Value::Text),
        Some('\'') => single_quoted(scan).map(Value::Text),
        Some(c) if c == '-' || c.is_ascii_digit() => number(scan),
        _ => word(scan),
    }
}

fn list(scan: &mut Scan<'_>, depth: u32) -> Result<Vec<Node>, ConfError> {
    scan.next();
    let mut list = Vec::new();
    loop {
        scan.gap();
        if scan.take(']') {
            return Ok(list);
        }
        let line = scan.line();
        list.push(Node { line, value: value(scan, depth)? });
        scan.blanks();
        scan.comment();
        if scan.take(']') {
            return Ok(list);
        }
        if !scan.take(',') && !scan.peek().is_some_and(is_newline) {
            return Err(scan.expected("a comma or `]`"));
        }
    }
}

fn map(scan: &mut Scan<'_>, depth: u32) -> Result<Map, ConfError> {
    scan.next();
    let mut map = Map::default();
    loop {
        scan.gap();
        if scan.take('}') {
            return unique(map);
        }
        let line = scan.line();
        let key = key(scan)?;
        scan.take_while(is_space);
        if separator(scan) {
            scan.take_while(is_space);
        }
        insert(&mut map, scan, line, key, depth)?;
        scan.blanks();
        scan.comment();
        if scan.take('}') {
            return unique(map);
        }
        let goes_on = scan.take(',') || scan.take(';') || scan.peek().is_some_and(is_newline);
        if !goes_on {
            return Err(scan.expected("a comma or `}`"));
        }
    }
}

fn double_quoted(scan: &mut Scan<'_>) -> Result<String, ConfError> {
    scan.next();
    let mut text = String::new();
    loop {
        text.push_str(scan.take_while(|c| c != '"' && c != '\\' && is_plain(c)));
        match scan.peek() {
            Some('"') => {
                scan.next();
                return Ok(text);
            }
            Some('\\') => {
                scan.next();
                text.push(escaped(scan)?);
            }
            _ => return Err(scan.expected("the end of the text")),
        }
    }
}

fn escaped(scan: &mut Scan<'_>) -> Result<char, ConfError> {
    let wrong = "one of `\\t`, `\\n`, `\\r`, `\\\"`, `\\\\` or `\\x` with two digits of hex";
    let here = scan.clone();
    match scan.next() {
        Some('t') => Ok('\t'),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some(c @ ('"' | '\\')) => Ok(c),
        Some('x') => {
            let digits = scan.rest().get(..2).ok_or_else(|| here.expected(wrong))?;
            let code = u8::from_str_radix(digits, 16).map_err(|_| here.expected(wrong))?;
            let c = char::from(code);
            // Bytes from 128 on need not be text, and control characters are written in several ways.
            if !c.is_ascii() || !is_plain(c) {
                return Err(here.error("a printable ASCII character should stand here"));
            }
            scan.next();
            scan.next();
            Ok(c)
        }
        _ => Err(here.expected(wrong)),
    }
}

fn single_quoted(scan: &mut Scan<'_>) -> Result<String, ConfError> {
    scan.next();
    let text = scan.take_while(|c| c != '\'' && is_plain(c));
    if scan.take('\'') { Ok(text.to_owned()) } else { Err(scan.expected("the end of the text")) }
}

fn is_plain(c: char) -> bool {
    !c.is_control() || matches!(c, '\t' | '\n' | '\r')
}

/// Digits, with a suffix for thousands or a point; two points make an address, which is a text.
fn number(scan: &mut Scan<'_>) -> Result<Value, ConfError> {
    let here = scan.clone();
    let digits = |c: char| c.is_ascii_digit();
    let sign = if scan.take('-') { "-" } else { "" };
    let whole = scan.take_while(digits);
    if whole.is_empty() {
        return Err(scan.expected("a digit"));
    }
    if scan.take('.') {
        let part = scan.take_while(digits);
        if part.is_empty() {
            return Err(scan.expected("a digit"));
        }
        if scan.peek() == Some('.') && sign.is_empty() {
            let rest = scan.take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '-'));
            return Ok(Value::Text(format!("{whole}.{part}{rest}")));
        }
        let real: f64 =
            format!("{sign}{whole}.{part}").parse().map_err(|_| here.expected("a number"))?;
        // Beyond, numbers are written with an exponent.
        let is_simple = real == 0.0 || (1e-6..1e21).contains(&real.abs());
        return if is_simple {
            Ok(Value::Real(real))
        } else {
            Err(here.error("the number is out of range"))
        };
    }
    let suffix = scan.take_while(|c| c.is_ascii_alphabetic());
    let times = match suffix.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return Err(here.error("a number ends in k, kb, m, mb, g or gb; quote what is a text")),
    };
    let integer: Option<i64> = format!("{sign}{whole}").parse().ok();
    let integer = integer.and_then(|integer| integer.checked_mul(times));
    integer.map(Value::Integer).ok_or_else(|| here.error("the number is out of range"))
}

fn word(scan: &mut Scan<'_>) -> Result<Value, ConfError> {
    let here = scan.clone();
    if scan.peek() == Some('$') {
        return Err(scan.error("a variable can't be looked up: write its value, or quote the text"));
    }
    let word = scan.take_while(|c| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '*')
    });
    let ended = scan.peek().is_none_or(|c| is_space(c) || matches!(c, ',' | ';' | ']' | '}'));
    if word.is_empty() || !ended || word.starts_with(['.', '/', ':']) {
        return Err(here.expected("a value (quote what is a text)"));
    }
    Ok(match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Value::Flag(true),
        "false" | "no" | "off" => Value::Flag(false),
        _ => Value::Text(word.to_owned()),
    })
}
