use super::*;

fn read(text: &str) -> Conf {
    Conf::read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    Conf::read(text).expect_err(text).to_string()
}

#[test]
fn the_digest_is_the_one_that_the_server_gives() {
    // What `nats-server -t` of 2.15.1 says of this file.
    let text = r#"server_name: "bus"
listen: "127.0.0.1:14222"
http: "127.0.0.1:18222"
max_payload: 1MB
authorization { timeout: 10 }
jetstream { store_dir: "js", max_memory_store: 64MB, max_file_store: 4GB }
system_account: SYS
accounts { SYS {}
 BUS { jetstream: enabled, users: [ { user: "a<b>&", password: "x" } ] }
 }
"#;
    let told = "sha256:e15d3716abeec90d082f5a6f2743e1c8ea9758904063eeca8c6e77bddd47c430";
    assert_eq!(read(text).digest().to_string(), told);
}

#[test]
fn values_are_read_with_their_kinds_and_lines() {
    let conf = read(
        "a: 'x\"y' # told\n// more\nb = \"1\\t\\x41\\\\\"; c on, d { e\n\n : -2k\n f = [\n1\n 2.50, {} ] }\n\
         g 127.0.0.1:4222\n",
    );
    let field = |key| conf.root().field(key).unwrap();
    assert_eq!((field("a").line, field("a").value.text()), (1, Some("x\"y")));
    assert_eq!((field("b").line, field("B").value.text()), (3, Some("1\tA\\")));
    assert!(matches!(field("c").value, Value::Flag(true)));
    assert_eq!(field("g").value.text(), Some("127.0.0.1:4222"));
    let inner = field("d").value.map().unwrap();
    assert!(matches!(inner.field("e").unwrap().value, Value::Integer(-2000)));
    let list = inner.field("f").unwrap().value.list().unwrap();
    assert_eq!(list.iter().map(|node| node.line).collect::<Vec<_>>(), [7, 8, 8]);
    assert!(matches!(list[1].value, Value::Real(real) if real == 2.5));
}

#[test]
fn what_would_be_read_otherwise_or_elsewhere_is_refused() {
    for (text, told) in [
        ("include other.conf\n", "line 1, column 8: another file"),
        ("a { include 'b' }", "another file"),
        ("a: $HOME", "a variable"),
        ("a: 1\nA: 2\n", "line 2, column 1: the key \"A\" stands in this map already"),
        ("a { b: 1, 'b': 2 }", "already"),
        ("a: >\n", "quote what is a text"),
        ("a: 4e2x\n", "quote what is a text"),
        ("a: 2026-06-25T00:00:00Z\n", "the end of the line"),
        ("a: 1 2\n", "the end of the line"),
        ("a: \"b\\q\"", "one of"),
        ("a: \"\\x00\"", "printable"),
        ("a: \"\\xff\"", "printable"),
        ("a: \"b", "the file ends"),
        ("a: 'b", "the file ends"),
        ("a {", "the file ends"),
        ("a: [1", "the file ends"),
        ("a: [1\n,2]", "a value"),
        ("a { b: 1\n, c: 2 }", "a key"),
        ("a{}", "a space or a colon"),
        ("{ a: 1 }", "a key"),
        ("a: 1 }", "the end of the line"),
        ("a:\n1", "a value"),
        ("a (\n)\n", "a value"),
        ("a: 9223372036854775807k", "out of range"),
        ("a: .5", "a value"),
        ("a: 1.", "a digit"),
        ("a\u{0}: 1", "a space or a colon"),
    ] {
        let found = refused(text);
        assert!(found.contains(told), "{text:?}: {found}");
    }
    assert!(refused(&"a { ".repeat(40)).contains("32 deep"));
}

#[test]
fn nothing_that_is_in_a_file_is_shown() {
    let conf = read("users: [ { user: ada, password: \"hunter2\" } ]");
    let shown = format!("{conf:?} {:?}", conf.root().field("users"));
    assert!(!shown.contains("hunter2") && !shown.contains("ada"), "{shown}");
    assert!(!refused("password: \"hunter2\" x").contains("hunter2"));
}
