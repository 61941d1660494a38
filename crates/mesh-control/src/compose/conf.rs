//! A nats-server's configuration, as far as it is read to be checked: keys and values, and nothing that
//! reaches outside of the file.

use super::Danger;

/// A value, with the text of what is neither a list nor a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
    Table(Vec<(String, Value)>),
}

impl Value {
    /// The last value of this key, whatever its capitals: the server takes the last, and any.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let entries = self.entries()?.iter().rev();
        let mut entries = entries.filter(|(name, _)| name.eq_ignore_ascii_case(key));
        entries.next().map(|(_, value)| value)
    }

    pub(super) fn entries(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Deeper than any file is.
const MAX_DEPTH: usize = 32;

pub(super) fn read(text: &str) -> Result<Value, Danger> {
    let mut reader = Reader { rest: text, text, depth: 0 };
    let table = reader.table(None)?;
    Ok(table)
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
}

impl Reader<'_> {
    fn unread(&self, why: &'static str) -> Danger {
        let read = &self.text[..self.text.len() - self.rest.len()];
        Danger::Unread { why, line: read.matches('\n').count() + 1 }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// Over white space, comments, and what may stand between entries.
    fn skip(&mut self) {
        loop {
            let skipped = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ';');
            self.rest = self.rest.trim_start_matches(skipped);
            if !self.rest.starts_with('#') && !self.rest.starts_with("//") {
                return;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
        }
    }

    /// Entries up to `end`, or to the end of the text.
    fn table(&mut self, end: Option<char>) -> Result<Value, Danger> {
        let mut entries = Vec::new();
        loop {
            self.skip();
            match (self.rest.chars().next(), end) {
                (None, None) => return Ok(Value::Table(entries)),
                (None, Some(_)) => return Err(self.unread("a table without its end")),
                (found, Some(_)) if found == end => {
                    self.next();
                    return Ok(Value::Table(entries));
                }
                _ => {}
            }
            let key = self.key()?;
            if key.eq_ignore_ascii_case("include") {
                return Err(self.unread("an `include`, of which nothing is known"));
            }
            let equals = |c: char| c.is_ascii_whitespace() || matches!(c, ':' | '=');
            self.rest = self.rest.trim_start_matches(equals);
            let value = self.value()?;
            entries.push((key, value));
        }
    }

    fn key(&mut self) -> Result<String, Danger> {
        match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                self.quoted(quote)
            }
            _ => self.word(|c| matches!(c, ':' | '=' | '{' | '[')),
        }
    }

    fn value(&mut self) -> Result<Value, Danger> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unread("tables within tables"));
        }
        let value = match self.rest.chars().next() {
            Some('{') => {
                self.next();
                self.table(Some('}'))?
            }
            Some('[') => {
                self.next();
                self.list()?
            }
            Some(quote @ ('"' | '\'')) => {
                self.next();
                Value::Text(self.quoted(quote)?)
            }
            Some('(') => return Err(self.unread("a block of text")),
            Some('$') => return Err(self.unread("a variable, of which nothing is known")),
            _ => Value::Text(self.word(|_| false)?),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, Danger> {
        let mut items = Vec::new();
        loop {
            self.skip();
            match self.rest.chars().next() {
                None => return Err(self.unread("a list without its end")),
                Some(']') => {
                    self.next();
                    return Ok(Value::List(items));
                }
                Some(_) => items.push(self.value()?),
            }
        }
    }

    /// What is left of a text in quotes.
    fn quoted(&mut self, quote: char) -> Result<String, Danger> {
        let mut text = String::new();
        // Between single quotes nothing is escaped.
        let ends = |c: char| c == quote || c == '\\' && quote == '"';
        while let Some(end) = self.rest.find(ends) {
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
            if self.next() == Some(quote) {
                return Ok(text);
            }
            match self.next() {
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(same @ ('"' | '\\')) => text.push(same),
                _ => return Err(self.unread("an escape that is none")),
            }
        }
        Err(self.unread("a text without its end"))
    }

    /// Text without quotes.
    fn word(&mut self, ends: impl Fn(char) -> bool) -> Result<String, Danger> {
        let over = |c: char| {
            c.is_ascii_whitespace() || matches!(c, ',' | ';' | '}' | ']' | '#' | '"') || ends(c)
        };
        let end = self.rest.find(over).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(self.unread("nothing where something is wanted"));
        }
        self.rest = rest;
        Ok(word.to_owned())
    }
}
