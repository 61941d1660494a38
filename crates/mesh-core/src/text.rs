//! Text of others, shown to people.

use std::fmt;

/// A text with everything escaped that would steer a terminal or begin a line of its own.
///
/// ```
/// use mesh_core::text::Printable;
///
/// let name = "a\u{1b}[2J\n\u{202e}b\u{200b}";
/// assert_eq!(Printable(name).to_string(), r"a\u{1b}[2J\n\u{202e}b\u{200b}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printable<'a>(
    /// The text.
    pub &'a str,
);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = self.0.split(is_steering);
        f.write_str(plain.next().unwrap_or_default())?;
        for (steering, plain) in self.0.chars().filter(|c| is_steering(*c)).zip(plain) {
            write!(f, "{}{plain}", steering.escape_default())?;
        }
        Ok(())
    }
}

/// Whether a terminal may obey this instead of showing it: control characters, the ends of lines,
/// what turns the direction of writing, and what has no width, so that two texts look like one. All
/// of them are below U+10000.
#[must_use]
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}
