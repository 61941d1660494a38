use super::super::place::well_known;
use super::*;

#[test]
fn only_a_name_of_dns_in_lower_case_is_a_place() {
    assert_eq!(well_known(&realm("acme.com")).as_deref(), Some("https://acme.com/.well-known/mx"));
    for good in ["a.b", "tab-01.demo.acme.com", "xn--bcher-kva.example", "1.a"] {
        assert!(well_known(&realm(good)).is_some(), "{good}");
    }
    let long = format!("{}.com", "a".repeat(64));
    for bad in [
        "shop",
        "localhost",
        "Acme.com",
        "acme.COM",
        "bücher.example",
        "a_b.com",
        "-a.com",
        "a-.com",
        "127.0.0.1",
        "1.2.3.4",
        "acme.1",
        "a:b.com",
        "user@acme.com",
        "a?b.com",
        "a[b.com",
        "[::1]",
        "a\\b.com",
        long.as_str(),
    ] {
        assert_eq!(well_known(&realm(bad)), None, "{bad}");
    }
}
