//! A problem in its place, as a compiler shows it.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use mesh_core::text::Printable;

use super::style::{ERROR, HINT, WARNING};

/// What is wrong, where, and what to do about it.
#[derive(Debug, Clone)]
pub(crate) struct Mark<'a> {
    pub(crate) is_error: bool,
    /// Its name for programs.
    pub(crate) code: &'a str,
    pub(crate) what: &'a str,
    pub(crate) file: &'a str,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// What the file says; nothing, where it isn't to be shown.
    pub(crate) text: Option<&'a str>,
    /// The bytes of the text that are meant.
    pub(crate) span: Range<usize>,
    /// What they are; may be empty.
    pub(crate) label: &'a str,
    pub(crate) hint: &'a str,
}

/// A line of a file that somebody is shown, without anything being wrong with it.
#[derive(Debug, Clone)]
pub(crate) struct Shown<'a> {
    pub(crate) what: &'a str,
    pub(crate) file: &'a str,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// What the file says; nothing, where it isn't to be shown.
    pub(crate) text: Option<&'a str>,
    /// What stands there; may be empty.
    pub(crate) label: &'a str,
}

/// As [`render`], of the value that stands at a place.
pub(crate) fn render_shown(shown: &Shown<'_>) -> String {
    let [what, file, label] =
        [shown.what, shown.file, shown.label].map(|text| Printable(text).to_string());
    let span = shown.text.map(|text| value_at(text, shown.line, shown.column)).unwrap_or_default();
    let place =
        Placed { line: shown.line, column: shown.column, text: shown.text, span, label: &label };
    let group = placed(Group::with_title(Level::NOTE.primary_title(what.as_str())), &file, &place);
    Renderer::styled().note(HINT).render(&[group])
}

/// The bytes of the value, or the name, that begins at a line and column.
fn value_at(text: &str, line: usize, column: usize) -> Range<usize> {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mark = if line == 1 { mark_of(text) } else { 0 };
    let rest = text.get(before + mark..).unwrap_or_default();
    let skipped: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let start = before + mark + skipped;
    let value = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let length = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].find(quote).map(|end| end + 2),
        Some('[' | '{') => Some(value.trim_end().len()),
        _ => value.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | '#' | '=')),
    };
    start..start + length.unwrap_or(value.trim_end().len())
}

/// The most bytes of a line before and behind the place: a file may be one line of a megabyte.
const AROUND: usize = 160;

/// Several lines, in [colours](super::style), without a newline at their end.
pub(crate) fn render(mark: &Mark<'_>) -> String {
    let level = if mark.is_error { Level::ERROR } else { Level::WARNING };
    // The library escapes what it is shown of a file, but no names.
    let [what, file, label, hint] =
        [mark.what, mark.file, mark.label, mark.hint].map(|text| Printable(text).to_string());
    let group = Group::with_title(level.primary_title(what).id(mark.code));
    let Mark { line, column, text, span, .. } = mark.clone();
    let group = placed(group, &file, &Placed { line, column, text, span, label: &label });
    let group = group.element(Level::HELP.with_name("hint").message(hint));
    Renderer::styled().error(ERROR).warning(WARNING).help(HINT).render(&[group])
}

/// A place in a file, with texts that are escaped.
struct Placed<'a> {
    line: usize,
    column: usize,
    text: Option<&'a str>,
    span: Range<usize>,
    label: &'a str,
}

/// The same group with the line at the place, or the place alone.
fn placed<'a>(group: Group<'a>, file: &'a str, place: &Placed<'a>) -> Group<'a> {
    let origin = Origin::path(file).line(place.line).char_column(place.column);
    let Some(Part { line, span, is_whole }) = shown(place).map(|text| around(text, &place.span))
    else {
        return group.element(origin);
    };
    let label = Some(place.label).filter(|label| !label.is_empty());
    let annotation = AnnotationKind::Primary.span(span).label(label);
    let snippet = Snippet::source(line).line_start(place.line).annotation(annotation);
    match is_whole {
        // The snippet knows the place itself.
        true => group.element(snippet.path(file)),
        false => group.element(origin).element(snippet),
    }
}

/// The text, unless the line at the place has a password: that of a URL, as in a credential that was taken
/// for a file of another kind.
fn shown<'a>(place: &Placed<'a>) -> Option<&'a str> {
    let text = place.text?;
    let start = text.floor_char_boundary(place.span.start);
    let first = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[first..].lines().next().unwrap_or_default();
    let mut urls = line.split("://").skip(1);
    let is_secret = urls.any(|url| {
        let ends = |c: char| c.is_whitespace() || c == '"' || c == '\'';
        url.split(ends).next().is_some_and(|url| url.contains('@'))
    });
    (!is_secret).then_some(text)
}

/// What is shown of a line.
struct Part {
    line: String,
    /// Where in it the place is.
    span: Range<usize>,
    /// Whether it has the line's beginning.
    is_whole: bool,
}

/// The line that the span begins in, as much of it as is around the place.
fn around(text: &str, span: &Range<usize>) -> Part {
    let start = text.floor_char_boundary(span.start);
    let before = &text[..start];
    let first = before.rfind('\n').map_or_else(|| mark_of(before), |newline| newline + 1);
    let rest = &text[start..];
    let last = start + rest.find('\n').unwrap_or(rest.len());
    let last = if text[start..last].ends_with('\r') { last - 1 } else { last };
    let end = text.floor_char_boundary(span.end).clamp(start, last);
    let from = text.ceil_char_boundary(start.saturating_sub(AROUND)).max(first);
    let to = text.floor_char_boundary(end.min(start + AROUND) + AROUND).min(last);
    let cut = |is_cut| if is_cut { "…" } else { "" };
    let head = cut(from > first);
    let line = format!("{head}{}{}", &text[from..to], cut(to < last));
    let at = |offset: usize| head.len() + offset.min(to) - from;
    Part { line, span: at(start)..at(end), is_whole: from == first }
}

/// The bytes of a byte order mark, which has no place in its line.
fn mark_of(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, span: Range<usize>) -> String {
        let mark = Mark {
            is_error: true,
            code: "code",
            what: "what\u{1b}[2J",
            file: "f\u{1b}[1m\n.toml",
            line: 1,
            column: 1,
            text: Some(text),
            span,
            label: "field\u{1b}",
            hint: "do\u{7}",
        };
        anstream::adapter::strip_str(&render(&mark)).to_string()
    }

    #[test]
    fn a_line_with_a_password_is_not_shown() {
        for line in [r#"{"url": "tls://ann:pa55@host"}"#, "x = 'amqps://ann:pa55@host/v' # y"] {
            let told = plain(&format!("{line}\nnext"), 0..1);
            assert!(!told.contains("pa55") && told.contains("1:1"), "{told}");
        }
        assert!(plain("a = 'https://host/x' # b@c", 0..1).contains("https://host/x"));
    }

    #[test]
    fn a_line_is_marked_whatever_it_holds() {
        for (text, span) in [
            ("", 0..0),
            ("\n", 0..0),
            ("a = 5\r\nb = 6\r\n", 4..20),
            ("\ta = 'é'", 5..9),
            ("a = '日本語' # \u{202e}x\u{7}", 4..15),
            ("\u{feff}a = 1", 3..4),
            ("é", 1..1),
        ] {
            let shown = plain(text, span.clone());
            assert!(
                shown.starts_with("error[code]: what\\u{1b}[2J\n --> f\\u{1b}[1m\\n.toml:"),
                "{shown}"
            );
            assert!(shown.contains('^') && shown.contains("hint: do"), "{shown}");
            assert!(!shown.contains(['\u{202e}', '\u{7}', '\r']), "{shown:?}");
        }
    }

    #[test]
    fn of_a_line_without_an_end_a_part_is_shown() {
        let text = format!("é{}x = 'found'{}é", "a".repeat(1 << 20), "b".repeat(1 << 20));
        let start = text.find("'found'").unwrap();
        let shown = plain(&text, start..start + 7);
        assert!(shown.contains("'found'") && shown.contains("^^^^^^^ field"), "{shown}");
        assert!(shown.len() < 1_000, "{shown}");
        let shown = plain(&text, 0..text.len());
        assert!(shown.len() < 2_000, "{shown}");
    }

    #[test]
    fn a_value_is_shown_whole_and_nothing_behind_it() {
        for (line, column, value) in [
            ("emits = ['sent', 'lost'] # x", 10, "'sent'"),
            ("administrator = true # x", 17, "true"),
            ("tools = [{ name = \"a\" }]", 10, "{ name = \"a\" }]"),
            ("[[tools]]", 1, "[[tools]]"),
            ("name = 'é', x", 8, "'é'"),
            ("a", 9, ""),
        ] {
            let text = format!("# é\n{line}\nb = 1");
            assert_eq!(&text[value_at(&text, 2, column)], value, "{line}");
        }
        assert_eq!(value_at("\u{feff}a = 1", 1, 5), 7..8);
        assert_eq!(value_at("", 7, 7), 0..0);
    }

    #[test]
    fn every_span_of_a_text_can_be_shown() {
        let text = "é = 1\r\nb = '日'\n";
        for start in 0..=text.len() + 1 {
            for end in 0..=text.len() + 1 {
                drop(plain(text, start..end));
            }
        }
    }
}
