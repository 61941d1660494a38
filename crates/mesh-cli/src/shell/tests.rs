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
