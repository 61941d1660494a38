//! The README shows the quickstart that CI runs, to the letter.

#[test]
fn the_readmes_quickstart_is_the_example() {
    let readme = include_str!("../../README.md");
    let example = include_str!("../../examples/examples/quickstart.rs");
    let start = example.find("\nuse ").unwrap();
    let code = format!("```rust{}```\n", &example[start..]);
    assert!(readme.contains(&code), "copy examples/examples/quickstart.rs into README.md");
}
