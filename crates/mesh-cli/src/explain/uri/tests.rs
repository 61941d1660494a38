use proptest::prelude::*;

use super::*;
use crate::explain::testing::{check, pieces, text};

fn instead(uri: &str) -> Vec<String> {
    explain(uri).fault.map(|fault| fault.instead).unwrap_or_default()
}

#[test]
fn what_is_near_is_told_where_somebody_can_tell_what_is_meant() {
    for (bad, near) in [
        ("http://acme.com/a.accepts.m", &["matrix://acme.com/a.accepts.m"][..]),
        ("matrix:/acme.com/a.accepts.m", &["matrix://acme.com/a.accepts.m"]),
        ("Matrix:acme.com/a.accepts.m", &["matrix://acme.com/a.accepts.m"]),
        ("acme.com/a.accepts.m", &["matrix://acme.com/a.accepts.m"]),
        ("mx/1/acme.com/x/a.accepts.m", &["matrix://acme.com/x/a.accepts.m"]),
        (" matrix://acme.com/a.accepts.m\n", &["matrix://acme.com/a.accepts.m"]),
        ("matrix://u:p@acme.com:80/a.accepts.m?q#f", &["matrix://acme.com/a.accepts.m"]),
        ("matrix://acme.com//a.accepts.m/", &["matrix://acme.com/a.accepts.m"]),
        ("matrix://acme.com/a.accept.m", &["matrix://acme.com/a.accepts.m"]),
        ("matrix://acme.com/a.EMITS.m", &["matrix://acme.com/a.emits.m"]),
        ("matrix://acme.com/x/-/a.b/emits/m", &["matrix://acme.com/x/a.b.emits.m"]),
        (
            "matrix://acme.com/mail.send",
            &["matrix://acme.com/mail.accepts.send", "matrix://acme.com/mail.emits.send"],
        ),
        ("matrix://acme.com", &[]),
        ("matrix://acme.com/a.accepts", &[]),
        ("matrix://acme.com/a%zz.accepts.m", &[]),
        ("matrix://acme.com/*/a.accepts.m", &[]),
        ("", &[]),
    ] {
        assert_eq!(instead(bad), near, "{bad:?}");
    }
}

#[test]
fn a_bad_uri_always_says_what_to_do() {
    for bad in ["", "x", "matrix://", "matrix://r/%ff/a.emits.m"] {
        let explained = explain(bad);
        let fault = explained.fault.as_ref().unwrap();
        assert!(!fault.hints.is_empty() || !fault.instead.is_empty(), "{bad:?}");
        assert!(text(&explained).contains("hint: "), "{bad:?}");
    }
}

#[test]
fn a_huge_text_is_cut() {
    let huge = format!("matrix://acme.com/{}", "a".repeat(1 << 20));
    let explained = explain(&huge);
    assert!(!explained.good);
    assert!(text(&explained).len() < 2_000);
}

const PIECES: &[&str] = &[
    "matrix://",
    "MATRIX://",
    "acme.com",
    "r",
    "/",
    "/",
    ".",
    ".",
    "-",
    "accepts",
    "emits",
    "%2D",
    "%C3%A9",
    "a",
    "mail",
    ":80",
    "@",
    "?",
    "#",
    "*",
    ">",
    " ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_text_is_explained_and_what_is_near_is_good(uri in pieces(PIECES)) {
        let explained = explain(&uri);
        check(&explained);
        prop_assert_eq!(explained.good, MxUri::parse(&uri).is_ok());
        if let Some(fault) = &explained.fault {
            prop_assert!(fault.place.offset <= uri.len());
            for near in &fault.instead {
                prop_assert!(MxUri::parse(near).is_ok(), "{}", near);
            }
        }
        if let Some(means) = &explained.means {
            for form in [&means.compact, &means.segmented] {
                prop_assert_eq!(MxUri::parse(form).unwrap(), MxUri::parse(&uri).unwrap());
            }
        }
    }
}
