//! What the tests of all explanations share.

use mesh_core::text::is_steering;
use proptest::prelude::*;

use crate::shell::Answer;

/// The text for a person, without colours.
pub(crate) fn text(answer: &impl Answer) -> String {
    anstream::adapter::strip_str(&answer.to_string()).to_string()
}

/// That nothing reaches a terminal which that would obey, and that programs can read the JSON.
pub(crate) fn check(answer: &impl Answer) {
    let shown = answer.to_string();
    assert!(shown.ends_with('\n'));
    let styles = |c: char| c == '\n' || c == '\u{1b}';
    let obeyed = shown.chars().find(|c| is_steering(*c) && !styles(*c));
    assert_eq!(obeyed, None, "{shown:?}");
    // Only our own styles begin with ESC: they are all that stripping takes away.
    let plain = text(answer);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let json = serde_json::to_value(answer).unwrap();
    assert!(json.is_object());
}

/// Texts from pieces that belong somewhere, and from anything.
pub(crate) fn pieces(known: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(known).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9_-]{0,8}",
        1 => any::<char>().prop_map(String::from),
        1 => prop::sample::select(&["\u{1b}[2J", "\u{202e}", "\r", "\n", "é", "日本", "%zz", "%E6", "\u{200b}", "\0"][..])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}
