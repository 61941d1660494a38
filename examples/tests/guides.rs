//! What the guides show is compiled and run: each block of Rust in them stands, line for line, in a file of
//! this crate. Indentation may differ. A line `// …` in a block leaves something out.
#![expect(clippy::panic, reason = "a test")]

/// A guide's text with the sources that its blocks may come from.
macro_rules! guide {
    ($guide:literal, $($source:literal),+ $(,)?) => {
        check(
            $guide,
            include_str!(concat!("../../docs/", $guide)),
            &[$(include_str!(concat!("../", $source))),+],
        )
    };
}

#[test]
fn adding_a_transport_shows_the_example() {
    guide!(
        "adding-a-transport.md",
        "examples/custom_transport/broker.rs",
        "examples/custom_transport/harness.rs",
        "examples/custom_transport/link.rs",
        "examples/custom_transport/transport.rs",
        "examples/custom_transport/wire.rs",
        "tests/custom_transport.rs",
    );
}

#[test]
fn adding_a_transport_counts_the_cases_as_the_example_does() {
    let printed = include_str!("../expected/custom_transport.txt");
    let counts = printed.lines().find_map(|line| line.strip_prefix("the suite: ")).unwrap_or("?");
    let guide = include_str!("../../docs/adding-a-transport.md");
    assert!(guide.contains(&format!("```text\n{counts}\n```")), "it is {counts}");
}

#[test]
fn embedding_shows_what_is_run() {
    guide!(
        "embedding.md",
        "examples/embed_in_axum.rs",
        "examples/on_nats.rs",
        "examples/one_dependency.rs",
        "examples/tool_with_schema.rs",
        "examples/two_modules.rs",
        "tests/embedding.rs",
    );
}

#[test]
fn federation_shows_two_realms() {
    guide!("federation.md", "examples/two_realms.rs");
}

#[track_caller]
fn check(guide: &str, text: &str, sources: &[&str]) {
    let missing = missing(text, sources);
    assert!(missing.is_empty(), "docs/{guide} shows what no source has:\n{}", missing.join("\n"));
    assert!(blocks(text).count() > 3, "docs/{guide} shows no code");
}

/// The pieces of code that no source has.
fn missing(text: &str, sources: &[&str]) -> Vec<String> {
    let sources: Vec<_> = sources.iter().map(|source| lines(source)).collect();
    let stands = |piece: &[&str]| {
        let mut windows = sources.iter().flat_map(|source| source.windows(piece.len()));
        windows.any(|window| window == piece)
    };
    let blocks: Vec<_> = blocks(text).collect();
    let pieces = blocks.iter().flat_map(|block| block.split(|line| *line == "// …"));
    let pieces = pieces.filter(|piece| !piece.is_empty() && !stands(piece));
    pieces.map(|piece| piece.join("\n")).collect()
}

/// The blocks of Rust, in lines.
fn blocks(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let parts = text.split("\n```rust\n").skip(1);
    parts.map(|part| lines(part.split("\n```\n").next().unwrap_or_else(|| panic!("no end"))))
}

/// Without indentation and empty lines.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn code_that_no_source_has_is_told() {
    let source = "fn a() {\n    b();\n\n    c();\n}\n";
    let shows = |code: &str| missing(&format!("Text\n\n```rust\n{code}\n```\nText"), &[source]);
    assert!(shows("b();\nc();").is_empty());
    assert!(shows("fn a() {\n// …\n    c();").is_empty());
    assert_eq!(shows("c();\nb();"), ["c();\nb();"]);
    assert_eq!(shows("fn a() {\n    c();"), ["fn a() {\nc();"]);
}
