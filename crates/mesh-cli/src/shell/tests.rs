use super::usage::asked;
use super::*;

#[test]
fn what_steers_a_terminal_is_escaped_in_json_and_reads_back_as_it_was() {
    #[derive(serde::Serialize)]
    struct Named {
        name: &'static str,
    }
    let name = "é\u{9b}31m\u{7f}\u{202e}\"\\\n\u{1b}[0m😀";
    let line = json::line("test/1", &Named { name }).unwrap();
    assert_eq!(
        line,
        "{\"schema\":\"test/1\",\"name\":\"é\\u009b31m\\u007f\\u202e\\\"\\\\\\n\\u001b[0m😀\"}\n"
    );
    let read: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(read["name"], name);
}

#[test]
fn the_form_is_known_although_the_rest_cant_be_understood() {
    let of = |line: &str| {
        let asked = asked(line.split(' ').map(Into::into));
        (asked.json, asked.color)
    };
    use super::output::Color::{Always, Auto, Never};
    for (line, expected) in [
        ("mesh what", (false, Auto)),
        ("mesh --json what", (true, Auto)),
        ("mesh what --color never --json", (true, Never)),
        ("mesh --color=always what", (false, Always)),
        ("mesh --color sometimes", (false, Auto)),
        ("mesh check -- --json --color=always", (false, Auto)),
    ] {
        assert_eq!(of(line), expected, "{line}");
    }
}

#[test]
fn json_of_others_is_shown_without_what_steers_and_reads_back_as_it_was() {
    use std::collections::HashMap;

    use serde_json::value::RawValue;

    #[derive(serde::Serialize)]
    struct Carried {
        body: Box<RawValue>,
    }
    let text = "{ \"a\\\\\" :\n[1.50,\t\"x \u{202e}\u{7f}\\\" ]\",  1e400 ] }";
    let body = RawValue::from_string(text.to_owned()).unwrap();
    let shown = json::printed(&body);
    assert_eq!(shown.get(), "{\"a\\\\\":[1.50,\"x \\u202e\\u007f\\\" ]\",1e400]}");
    let line = json::line("s/1", &Carried { body }).unwrap();
    assert!(!line.trim_end().contains(mesh_core::text::is_steering), "{line}");
    let carried: HashMap<String, Box<RawValue>> = serde_json::from_str(&line).unwrap();
    assert_eq!(json::printed(&carried["body"]).get(), shown.get());
}
