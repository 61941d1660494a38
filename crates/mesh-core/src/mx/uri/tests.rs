use super::*;
use crate::mx::Plane;
use crate::name::RealmName;

fn refusal(text: &str) -> (UriProblem, usize) {
    let error = MxUri::parse(text).unwrap_err();
    (error.problem, error.offset)
}

#[test]
fn both_forms_are_the_same_value() {
    for (compact, segmented) in [
        ("matrix://r/a.accepts.m", "matrix://r/-/a/accepts/m"),
        ("matrix://acme.com/x.y/z/a.b.emits.m", "matrix://acme.com/x.y/z/-/a/b/emits/m"),
        ("Matrix://r/%2D/-.emits.m", "mAtRiX://r/%2D/-/-/emits/m"),
        ("matrix://r/-a/b-/--.emits.-", "matrix://r/-a/b-/-/--/emits/-"),
        ("matrix://%E6%97%A5/%3f/a%C3%A9.emits.m", "matrix://日/%3F/-/aé/emits/m"),
    ] {
        let a = MxUri::parse(compact).unwrap();
        let b = MxUri::parse(segmented).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.to_string(), b.to_string());
        assert_eq!(MxUri::parse(&a.to_string()).unwrap(), a);
        assert_eq!(MxUri::parse(&a.segmented().to_string()).unwrap(), a);
    }
}

#[test]
fn a_uri_tells_its_parts() {
    let uri = MxUri::parse("matrix://Acme.com/x.y/%2D/a.b.emits.m").unwrap();
    assert_eq!(uri.realm().as_str(), "Acme.com");
    assert_eq!(uri.path().mounts().collect::<Vec<_>>(), ["x.y", "-"]);
    assert_eq!(uri.path().component(), "a.b");
    assert_eq!(uri.path().plane(), Plane::Emits);
    assert_eq!(uri.path().message(), "m");
    assert_eq!(uri.to_string(), "matrix://Acme.com/x.y/%2D/a.b.emits.m");
    assert_eq!(uri.segmented().to_string(), "matrix://Acme.com/x.y/%2D/-/a/b/emits/m");
    let realm = RealmName::new("a:80@b?c").unwrap();
    let uri = MxUri::new(&realm, uri.path().clone());
    assert_eq!(uri.to_string(), "matrix://a%3A80%40b%3Fc/x.y/%2D/a.b.emits.m");
    assert_eq!(MxUri::parse(&uri.to_string()).unwrap(), uri);
}

#[test]
fn the_realm_and_the_rest_are_case_sensitive() {
    let uri = |text| MxUri::parse(text).unwrap();
    assert_ne!(uri("matrix://A/a.emits.m"), uri("matrix://a/a.emits.m"));
    assert_ne!(uri("matrix://a/A.emits.m"), uri("matrix://a/a.emits.m"));
    assert_eq!(refusal("matrix://a/a.Emits.m").0, UriProblem::Plane);
}

#[test]
fn a_refusal_says_what_and_where() {
    use UriProblem::*;
    for (text, problem, offset) in [
        ("", Scheme, 0),
        ("matrix:/r/a.emits.m", Scheme, 0),
        ("http://r/a.emits.m", Scheme, 0),
        ("matrix://", Empty, 9),
        ("matrix://r", Empty, 10),
        ("matrix://r/", Empty, 11),
        ("matrix:///a.emits.m", Empty, 9),
        ("matrix://r//a.emits.m", Empty, 11),
        ("matrix://r/a.emits.m/", Empty, 21),
        ("matrix://u@r/a.emits.m", UserInfo, 10),
        ("matrix://u:p@r/a.emits.m", UserInfo, 10),
        ("matrix://r:80/a.emits.m", Port, 10),
        ("matrix://r?x", Query, 10),
        ("matrix://r/a.emits.m?x", Query, 20),
        ("matrix://r/a.emits.m#x", Fragment, 20),
        ("matrix://r#x", Fragment, 10),
        ("matrix://a..b/a.emits.m", Empty, 11),
        ("matrix://r%2Fs/a.emits.m", Character('/'), 10),
        ("matrix://%72%2A/a.emits.m", Character('*'), 12),
        ("matrix://r%zz/a.emits.m", BadEscape, 10),
        ("matrix://r/a%2.emits.m", BadEscape, 12),
        ("matrix://r/%ff/a.emits.m", NotUtf8, 11),
        ("matrix://r/a.emits.%C3", NotUtf8, 19),
        ("matrix://r/a b/a.emits.m", Character(' '), 12),
        ("matrix://r/*/a.emits.m", Character('*'), 11),
        ("matrix://r/x%20/a.emits.m", Character(' '), 12),
        ("matrix://r/%78%2F/a.emits.m", Character('/'), 14),
        ("matrix://r/x/a%2Eb.emits.m", Character('.'), 14),
        ("matrix://r/x/a.emits.m%25", Character('%'), 22),
        ("matrix://r/%41%3E/a.emits.m", Character('>'), 14),
        ("matrix://r/a\u{a0}/a.emits.m", Character('\u{a0}'), 12),
        ("matrix://r/a..b/a.emits.m", Empty, 13),
        ("matrix://r/a%2E.b/a.emits.m", Empty, 15),
        ("matrix://r/a.emits", Plane, 11),
        ("matrix://r/a.b.c.m", Plane, 15),
        ("matrix://r/.emits.m", Empty, 11),
        ("matrix://r/a.emits.", Empty, 19),
        ("matrix://r/a..emits.m", Empty, 13),
        ("matrix://r/x/-", Empty, 14),
        ("matrix://r/x/-/", Empty, 15),
        ("matrix://r/x/-/a//emits/m", Empty, 17),
        ("matrix://r/x/-/a/emits/m/", Empty, 25),
        ("matrix://r/x/-/a.b/emits/m", Character('.'), 16),
        ("matrix://r/x/-/emits/m", Plane, 15),
        ("matrix://r/x/-/a/b/m", Plane, 17),
        ("matrix://r/x%2D/-/a/b/m", Plane, 20),
        ("matrix://r/-/-/emits", Plane, 13),
        ("matrix://r//-/a/emits/m", Empty, 11),
        ("matrix://r/%41//-/a/emits/m", Empty, 15),
    ] {
        assert_eq!(refusal(text), (problem, offset), "{text}");
    }
    let long = format!("matrix://r/{}.emits.m", "a".repeat(241));
    assert_eq!(refusal(&long), (TooLong { max: 248, found: 249 }, 11));
}

#[test]
fn a_compact_uri_without_escapes_is_borrowed() {
    let text = "matrix://acme.com/x/a.b.accepts.m";
    let uri = MxUri::parse(text).unwrap();
    assert!(std::ptr::eq(uri.path().as_str(), &text[18..]));
    assert!(std::ptr::eq(uri.realm().as_str(), &text[9..17]));
}
