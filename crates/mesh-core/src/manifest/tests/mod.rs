mod between_files;
mod pattern;
mod schema;
mod shape;

use proptest::prelude::*;

use super::*;

fn module(text: &str) -> ModuleManifest {
    match ModuleManifest::parse("m.toml", text) {
        Ok(manifest) => manifest,
        Err(problems) => panic!("{problems:#?}"),
    }
}

fn mesh_file(text: &str) -> MeshFile {
    match MeshFile::parse("mesh.toml", text) {
        Ok(file) => file,
        Err(problems) => panic!("{problems:#?}"),
    }
}

fn shown(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn refused(text: &str) -> Vec<String> {
    shown(&ModuleManifest::parse("m.toml", text).unwrap_err())
}

fn mesh_refused(text: &str) -> Vec<String> {
    shown(&MeshFile::parse("mesh.toml", text).unwrap_err())
}

#[test]
fn every_unknown_key_is_refused_with_line_and_column() {
    let text = "name = \"mail\"\nversion = \"1\"\nemit = []\n\n[[tools]]\nname = \"a\"\ndescription = \"b\"\n  repeat = true\n";
    let problems = refused(text);
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert_eq!(
        problems,
        [
            "m.toml:3:1: error: emit: unknown key \"emit\" (did you mean `emits`?)",
            "m.toml:8:3: error: tools[0].repeat: unknown key \"repeat\" (did you mean `repeatable`?)"
        ]
    );
}

#[test]
fn a_file_of_nothing_but_unknown_keys_is_given_up_early() {
    let text: String = (0..1000).map(|key| format!("k{key}.x = 1\n")).collect();
    let problems = refused(&text);
    assert_eq!(problems.len(), 33);
    assert!(problems[32].contains("warning: the rest of the file was not read"), "{problems:?}");
}

#[test]
fn a_wrong_shape_is_refused_where_it_is() {
    assert_eq!(
        refused("name = 5\nversion = \"1\""),
        [
            "m.toml:1:8: error: name: invalid type: integer `5`, expected a string (put it in quotes)"
        ]
    );
    assert_eq!(
        refused("version = \"1\""),
        ["m.toml:1:1: error: name: the key \"name\" is missing (add `name = …`)"]
    );
    let text = "name = \"a\"\nversion = \"1\"\n[[tools]]\nname = \"é\"\ndescription = \"d\"\n[[tools]]\ndescription = \"x\"";
    let problems = refused(text);
    assert!(
        problems[1].contains("6:1: error: tools[1].name: the key \"name\" is missing"),
        "{problems:?}"
    );
    let problems = refused("name = mail\nversion = \"1\"\nemits = [a, b]\n= 5");
    let places: Vec<&str> = problems.iter().map(|p| &p[..11]).collect();
    assert_eq!(places, ["m.toml:1:8:", "m.toml:3:10", "m.toml:3:13", "m.toml:4:1:"]);
    assert!(problems[0].contains("1:8: error: not TOML: "), "{problems:?}");
    let large = " ".repeat(MAX_FILE_BYTES + 1);
    assert_eq!(
        refused(&large),
        [
            "m.toml:1:1: error: 1048577 bytes long, at most 1048576 are allowed (is it the file that is meant? Split what is larger into modules)"
        ]
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = r#"
name = "Mail"
version = " "
emits = ["a b", "ok", "ok", "a.*"]
consumes = ["ledger", "a.#.b", "x.>.y", "Led.x", "ledger.a b"]
calls = ["ledger", "ledger.provision_grant", "le dger.x", "ledger.x."]
requires = [{ provision = "db", from = "dead" }, { provision = "db", contributes = { x = inf } }]

[[tools]]
name = "provision_withdraw"
description = ""
timeout = "0s"
input = { type = "string" }

[[tools]]
name = "x"
description = "x"
timeout = "2h"
output = { since = 2026-01-01, top = nan }

[[provides]]
name = "d.b"
credential = ["user", "user", ""]
"#;
    let expected = [
        "2:8: error: name: module name \"Mail\": character 'M' at offset 0 is not allowed (small letters, digits and `-`, and no `-` first)",
        "3:11: error: version: it is empty (write something, or leave the key out if it may be)",
        "4:10: error: emits[0]: event name \"a b\": character ' ' at offset 1 is not allowed (words joined by `.`, each of letters, digits, `-` and `_`)",
        "4:23: error: emits[2]: \"ok\" is given already by emits[1] (leave one of them out, or name it otherwise)",
        "4:29: error: emits[3]: event name \"a.*\": character '*' at offset 2 is not allowed (words joined by `.`, each of letters, digits, `-` and `_`)",
        "5:13: error: consumes[0]: \"ledger\": matches no event (a pattern is <module>.<event>; for all events of a module write `mail.>`)",
        "5:23: error: consumes[1]: \"a.#.b\": `#` at offset 2 is not last (`#` is AMQP's; write `*` for one word or a last `>` for the rest)",
        "5:32: error: consumes[2]: \"x.>.y\": filter: `>` at offset 2 is not last (words joined by `.`; `*` is one word and a last `>` the rest)",
        "5:41: error: consumes[3]: \"Led.x\": module name: character 'L' at offset 0 is not allowed, in the token at offset 0 (small letters, digits and `-`, and no `-` first)",
        "5:50: error: consumes[4]: \"ledger.a b\": filter: character ' ' at offset 8 is not allowed (words joined by `.`; `*` is one word and a last `>` the rest)",
        "6:10: error: calls[0]: \"ledger\": expected <module>.<tool> (write the tool's module before it, such as `mail.send`)",
        "6:20: error: calls[1]: only the controller calls a tool named provision_grant (`provides` and `requires` are enough)",
        "6:46: error: calls[2]: \"le dger.x\": module name: character ' ' at offset 2 is not allowed (small letters, digits and `-`, and no `-` first)",
        "6:59: error: calls[3]: \"ledger.x.\": tool name: character '.' at offset 1 is not allowed (letters, digits, `-` and `_`, the first a letter or a digit)",
        "7:40: error: requires[0].from: module name \"dead\": reserved by the mesh (choose another)",
        "7:64: error: requires[1].provision: \"db\" is given already by requires[0].provision (leave one of them out, or name it otherwise)",
        "7:84: error: requires[1].contributes: JSON has no such number (write a number with digits, or a text in quotes)",
        "10:8: error: tools[0].name: only the controller calls a tool named provision_withdraw (`provides` and `requires` are enough)",
        "11:15: error: tools[0].description: it is empty (write something, or leave the key out if it may be)",
        "12:11: error: tools[0].timeout: \"0s\" is not a duration from 1 ms to 1 h (write it as `30s` or `1m 30s`)",
        "13:9: error: tools[0].input: the schema of an input says `type = \"object\"` (write that, or leave `type` out)",
        "18:11: error: tools[1].timeout: \"2h\" is not a duration from 1 ms to 1 h (write it as `30s` or `1m 30s`)",
        "19:10: error: tools[1].output: JSON has no dates: write a string (put it in quotes)",
        "22:8: error: provides[0].name: provision name \"d.b\": character '.' at offset 1 is not allowed (letters, digits, `-` and `_`, the first a letter or a digit)",
        "23:23: error: provides[0].credential[1]: \"user\" is given already by provides[0].credential[0] (leave one of them out, or name it otherwise)",
        "23:31: error: provides[0].credential[2]: it is empty (write something, or leave the key out if it may be)",
    ];
    let found = refused(text);
    let found: Vec<&str> = found.iter().map(|p| p.strip_prefix("m.toml:").unwrap()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_call_of_a_tool_of_ones_own_is_refused() {
    let text = "name = \"a\"\nversion = \"1\"\ncalls = [\"b.t\", \"a.t\", \"ab.t\"]\ntools = [{ name = \"t\", description = \"T\" }]";
    assert_eq!(
        refused(text),
        [
            "m.toml:3:17: error: calls[1]: a.t is the module's own tool (leave it out: a module runs its own code without the mesh)"
        ]
    );
}

#[test]
fn what_is_shown_of_a_file_is_short_and_harmless() {
    let long = format!("name = \"\\u001b{}\"\nversion = \"1\"", "x".repeat(1000));
    let shown = refused(&long).remove(0);
    assert!(shown.contains("\"\\u{1b}xxx") && shown.contains("x\"…: "), "{shown}");
    assert!(shown.len() < 250, "{shown}");
}

#[test]
fn a_manifest_says_what_it_says_and_defaults_the_rest() {
    let manifest = module(
        r#"
        name = "mail"
        version = "1.0"
        tools = [
            { name = "a", description = "A" },
            { name = "b", description = "B", timeout = "1m 30s", repeatable = true, output = { type = "array", maxItems = 1.5 } },
        ]
        "#,
    );
    let tool = |name: &str| manifest.tool(&name.parse().unwrap()).unwrap();
    assert_eq!(tool("a").timeout, DEFAULT_TIMEOUT);
    assert_eq!(tool("a").input.as_str(), r#"{"properties":{},"type":"object"}"#);
    assert_eq!((tool("a").repeatable, &tool("a").output), (false, &None));
    assert_eq!(tool("b").timeout.as_secs(), 90);
    assert_eq!(tool("b").output.as_ref().unwrap().as_str(), r#"{"maxItems":1.5,"type":"array"}"#);
    let long =
        format!("name=\"{}\"\nversion=\"1\"\nemits=[\"{}\"]", "m".repeat(63), ["e"; 100].join("."));
    assert!(refused(&long)[0].contains("its subject would be 275 bytes long"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_text_panics_and_every_problem_has_a_place(
        text in "((name|version|emits|calls|tools|nodes|people|x|[é\\[\\]a.]{1,5}) ?= ?[\\[\\]{}\"a-c=,0-9é.-]{0,12}\n|\\[\\[?(tools|people|x)\\]\\]?\n){0,6}",
    ) {
        for problems in [
            ModuleManifest::parse("m", &text).err(),
            MeshFile::parse("m", &text).err(),
        ] {
            drop((FileKind::of(&text), MeshFile::manifests_named(&text)));
            for problem in problems.into_iter().flatten() {
                prop_assert!(problem.line >= 1 && problem.line <= text.lines().count() + 1);
                prop_assert!(problem.column >= 1);
                prop_assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
                prop_assert!(!problem.kind.hint().is_empty());
            }
        }
    }
}

/// With a count from the start of the file for each place it took a minute and more.
#[test]
fn a_large_file_on_one_line_is_read_in_time_for_its_size() {
    let events: Vec<String> = (0..60_000).map(|event| format!("'e{event}'")).collect();
    let text = format!("name = 'm'\nversion = '1'\nemits = [{}]", events.join(","));
    // Not timed: work that grows with the square of the number is felt here.
    assert_eq!(ModuleManifest::parse("m.toml", &text).unwrap().emits.len(), events.len());
}

/// The key would otherwise be kept once for each of those inside it: 20 GB here.
#[test]
fn a_long_key_around_many_others_takes_memory_for_the_file_alone() {
    let inside: String = (0..40_000).map(|key| format!("k{key} = 1\n")).collect();
    let text = format!("name = 'm'\nversion = '1'\n[{}]\n{inside}", "a".repeat(500_000));
    let problems = refused(&text);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("m.toml:3:2: error: aaa"), "{}", &problems[0][..40]);
}

#[test]
fn a_problem_is_one_line_and_steers_no_terminal() {
    let problems =
        refused("name = 'm'\nversion = '1'\n\"\\u001b[2J\\nx.toml:1:1: error: \\u0085\" = 1");
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0]
            .starts_with(r"m.toml:3:1: error: \u{1b}[2J\nx.toml:1:1: error: \u{85}: unknown"),
        "{problems:?}"
    );
}
