//! One pass over a document, without recursion and without building anything.

use std::borrow::Cow;

use super::{JsonError, JsonProblem, MAX_DEPTH, Value, string};

/// A reading position in a UTF-8 document.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Where `text` begins in its document.
    base: usize,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `bytes`: at most `max_bytes` of them, UTF-8, no byte-order mark.
    pub(crate) fn new(bytes: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        if bytes.len() > max_bytes {
            let problem = JsonProblem::TooLarge { max: max_bytes, found: bytes.len() };
            return Err(JsonError::new(problem, max_bytes));
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Err(JsonError::new(JsonProblem::ByteOrderMark, 0));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::over(text, 0)),
            Err(error) => Err(JsonError::new(JsonProblem::NotUtf8, error.valid_up_to())),
        }
    }

    /// The same for a value that is to stand inside that many containers more.
    pub(crate) fn nested(bytes: &'a [u8], levels: usize) -> Result<Self, JsonError> {
        Ok(Self { depth: levels, ..Self::new(bytes, usize::MAX)? })
    }

    /// A scanner of a value that was checked already; offsets still count from the document's start.
    pub(crate) fn inside(value: Value<'a>) -> Self {
        Self::over(value.text, value.offset)
    }

    fn over(text: &'a str, base: usize) -> Self {
        Self { text, at: 0, depth: 0, base }
    }

    /// Where the next byte stands in the document.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// The byte after white space, which it skips.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Refuses anything but white space up to the end.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.refuse(JsonProblem::TrailingText),
        }
    }

    /// Checks the value here and moves behind it.
    pub(crate) fn value(&mut self) -> Result<Value<'a>, JsonError> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'{' | b'[') => self.containers()?,
            first => self.scalar(first)?,
        }
        Ok(self.between(start, self.at))
    }

    /// Checks the object here; each member goes to `member` as key, offset of the key, value.
    pub(crate) fn object<E: From<JsonError>>(
        &mut self,
        mut member: impl FnMut(Cow<'a, str>, usize, Value<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.peek() != Some(b'{') {
            return Err(self.unexpected().into());
        }
        self.enter()?;
        if self.peek() == Some(b'}') {
            self.leave();
            return Ok(());
        }
        loop {
            self.peek();
            let start = self.at;
            let end = self.key()?;
            let key = self.between(start, end);
            let value = self.value()?;
            member(key.string(), key.offset, value)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected().into()),
            }
        }
        self.leave();
        Ok(())
    }

    /// A tree of containers. The bits of `objects` say which open ones are objects, the innermost
    /// lowest; their number is bounded by [`MAX_DEPTH`], which is the width of that word.
    fn containers(&mut self) -> Result<(), JsonError> {
        const _: () = assert!(MAX_DEPTH <= u128::BITS as usize);
        let outside = self.depth;
        let mut objects: u128 = 0;
        loop {
            let mut closed = true;
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    self.enter()?;
                    objects = objects << 1 | u128::from(open == b'{');
                    match (open, self.peek()) {
                        (b'{', Some(b'}')) | (b'[', Some(b']')) => {
                            self.leave();
                            objects >>= 1;
                        }
                        (b'{', _) => {
                            self.key()?;
                            closed = false;
                        }
                        _ => closed = false,
                    }
                }
                first => self.scalar(first)?,
            }
            while closed {
                if self.depth == outside {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        closed = false;
                    }
                    Some(b'}') if in_object => {
                        self.leave();
                        objects >>= 1;
                    }
                    Some(b']') if !in_object => {
                        self.leave();
                        objects >>= 1;
                    }
                    _ => return Err(self.unexpected()),
                }
            }
        }
    }

    fn enter(&mut self) -> Result<(), JsonError> {
        if self.depth == MAX_DEPTH {
            return self.refuse(JsonProblem::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// A string and the colon behind it; tells where the string ends.
    #[inline]
    fn key(&mut self) -> Result<usize, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        self.string()?;
        let end = self.at;
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(end)
    }

    #[inline]
    fn scalar(&mut self, first: Option<u8>) -> Result<(), JsonError> {
        match first {
            Some(b'"') => self.string(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'N' | b'I') if self.rest_is("NaN") || self.rest_is("Infinity") => {
                self.refuse(JsonProblem::NotFinite)
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline]
    fn string(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            self.at = string::plain_end(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at = string::escape(bytes, self.at)?.1,
                Some(_) => return self.refuse(JsonProblem::ControlCharacter),
                None => return self.refuse(JsonProblem::UnexpectedEnd),
            }
        }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
            if self.rest_is("Infinity") || self.rest_is("NaN") {
                self.at -= 1;
                return self.refuse(JsonProblem::NotFinite);
            }
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
            if self.byte().is_some_and(|b| b.is_ascii_digit()) {
                return self.refuse(JsonProblem::BadNumber);
            }
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            return self.refuse(JsonProblem::BadNumber);
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        if !self.rest_is(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(())
    }

    fn rest_is(&self, word: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes())
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn between(&self, start: usize, end: usize) -> Value<'a> {
        Value { text: &self.text[start..end], offset: self.base + start }
    }

    #[cold]
    fn unexpected(&self) -> JsonError {
        let problem = match self.byte() {
            Some(_) => JsonProblem::Unexpected,
            None => JsonProblem::UnexpectedEnd,
        };
        JsonError::new(problem, self.base + self.at)
    }

    fn refuse<T>(&self, problem: JsonProblem) -> Result<T, JsonError> {
        Err(JsonError::new(problem, self.base + self.at))
    }
}
