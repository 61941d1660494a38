//! A place in a text.

use super::ConfError;

#[derive(Clone)]
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Where the line begins.
    begin: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, begin: 0 }
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// What is to come.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        if next == '\n' {
            self.line += 1;
            self.begin = self.at;
        }
        Some(next)
    }

    /// Takes this character if it is the next one.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.next();
        }
        found
    }

    /// Takes characters for as long as they are so.
    pub(super) fn take_while(&mut self, mut is: impl FnMut(char) -> bool) -> &'a str {
        let rest = self.rest();
        let before = self.at;
        while self.peek().is_some_and(&mut is) {
            self.next();
        }
        rest.get(..self.at - before).unwrap_or_default()
    }

    /// Takes spaces and tabs.
    pub(super) fn blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t'));
    }

    /// Takes a comment up to the end of its line, if one begins here.
    pub(super) fn comment(&mut self) -> bool {
        let found = self.rest().starts_with('#') || self.rest().starts_with("//");
        if found {
            self.take_while(|c| !is_newline(c));
        }
        found
    }

    /// Takes white space with the ends of lines, and comments.
    pub(super) fn gap(&mut self) {
        loop {
            self.take_while(is_space);
            if !self.comment() {
                return;
            }
        }
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> ConfError {
        let before = self.text.get(self.begin..self.at).unwrap_or_default();
        let column = u32::try_from(before.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
        ConfError { line: self.line, column, problem: problem.into() }
    }

    /// That something else should stand here.
    pub(super) fn expected(&self, what: &str) -> ConfError {
        match self.peek() {
            None => self.error(format!("{what} should stand here, and the file ends")),
            Some(other) => self.error(format!("{what} should stand here, not {other:?}")),
        }
    }
}

pub(super) fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_newline(c)
}
