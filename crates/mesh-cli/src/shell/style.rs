//! The few colours, and what each means.
//!
//! `{ERROR}` begins one and `{ERROR:#}` ends it. Whoever doesn't want colours gets the text without.

use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// A heading, or the name of what is told.
pub(crate) const STRONG: Style = Style::new().bold();
/// What only those who look for it read.
pub(crate) const FAINT: Style = Style::new().dimmed();
