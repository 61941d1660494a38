use super::*;

const GOOD: &str = r#"server_name: "bus"
listen: "0.0.0.0:4222"
http: "127.0.0.1:8222"
authorization { timeout: 10 }
tls { cert_file: "c.pem", key_file: "c.key" }
jetstream { store_dir: "js" }
system_account: "SYS"
accounts {
  SYS {}
  BUS { jetstream: enabled, users: [
    { user: "c", password: "$2a$04$x", permissions: { publish: ["a"], subscribe: { allow: "b" } } }
  ] }
}
"#;

fn judged(text: &str) -> Judgement {
    judge(&Conf::read(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// The faults of a good file in which one text stands for another.
fn with(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    judged(&GOOD.replacen(from, to, 1)).faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_locked_down_file_has_no_fault() {
    let found = judged(GOOD);
    assert_eq!((found.faults, found.warnings), (vec![], vec![]));
    assert_eq!(found.monitor, Some(([127, 0, 0, 1], 8222).into()));
}

/// A server let such a user publish everything, or nothing, as it came.
#[test]
fn what_a_user_has_under_two_names_is_a_fault() {
    for (from, to, told) in [
        (
            "permissions: {",
            "authorization: { publish: \">\", subscribe: \">\" }, permissions: {",
            "line 11: c has permissions and authorization, of which the server takes either",
        ),
        ("publish: [", "pub: \">\", publish: [", "c has publish and pub"),
        ("subscribe: {", "export: \">\", subscribe: {", "c has subscribe and export"),
        (
            "system_account: \"SYS\"",
            "system_account: \"BUS\", system: \"SYS\"",
            "the file has system_account and system",
        ),
    ] {
        let found = with(from, to);
        assert!(found.len() == 1 && found[0].contains(told), "{to}: {found:?}");
    }
}

#[test]
fn what_is_valid_and_dangerous_is_a_fault_with_its_line() {
    for (from, to, told) in [
        ("accounts {", "others {", "there are no accounts"),
        (
            "\n    { user",
            "\n] } \n B { c: [ { user",
            "no account has a user: a reload drops everybody, and a server that starts so lets in",
        ),
        ("users: [\n", "users: [], nkeys: [\n", "line 10: account BUS has an empty list of users"),
        ("timeout: 10", "timeout: 10, users: [{user: a}]", "line 4: authorization { users }"),
        ("timeout: 10", "token: abc", "authorization { token }"),
        ("server_name", "no_auth_user: c\nserver_name", "line 1: no_auth_user"),
        ("  SYS {}", "  SYS {}\n  \"$G\" {}", "line 10: account $G"),
        ("tls {", "tls_ {", "line 2: clients connect without TLS"),
        ("tls {", "allow_non_tls: true\ntls {", "line 5: clients may connect without TLS"),
        (
            "server_name",
            "websocket { port: 8080, no_tls: true }\nserver_name",
            "websocket listens without",
        ),
        (
            "server_name",
            "leafnodes { listen: \"0.0.0.0:7422\" }\nserver_name",
            "leafnodes listens without",
        ),
        ("server_name", "port: 4223\nserver_name", "line 1: port says in another way"),
        ("0.0.0.0:4222", "0.0.0.0:0", "listen is no address"),
        ("listen:", "listens:", "does not say where clients connect"),
        ("127.0.0.1:8222", "0.0.0.0:8222", "line 3: the server tells everybody"),
        ("http: ", "http_: ", "no reload can be confirmed"),
        ("jetstream: enabled, ", "", "gives it to $G"),
        ("{ store_dir: \"js\" }", "enabled", "folder for temporary files"),
        ("publish: [\"a\"], ", "", "c may publish everything"),
        ("publish: [\"a\"]", "publish: []", "line 11: c may publish everything"),
        ("{ allow: \"b\" }", "{ allow: [], deny: \"c\" }", "c may subscribe everything"),
        ("users: [\n", "default_permissions: {}, users: [\n", "account BUS gives rights"),
        ("server_name", "log_file: \"l\"\nserver_name", "nobody hears why"),
        ("server_name", "resolver: MEMORY\nserver_name", "the accounts stand elsewhere"),
    ] {
        let found = with(from, to);
        assert!(found.iter().any(|fault| fault.contains(told)), "{told}: {found:?}");
    }
}

#[test]
fn a_password_as_it_is_is_a_warning_that_does_not_show_it() {
    let found = judged(&GOOD.replace("$2a$04$x", "hunter2"));
    assert_eq!(found.faults, []);
    let told = found.warnings[0].to_string();
    assert!(told.contains("line 11") && !told.contains("hunter2"), "{told}");
}

#[test]
fn a_user_of_the_system_account_needs_no_permissions() {
    assert_eq!(with("SYS {}", "SYS { users: [ { user: sys, password: \"$2a$04$y\" } ] }"), [""; 0]);
}
