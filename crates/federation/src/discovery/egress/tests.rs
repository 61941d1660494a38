use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::resolve::{Checked, Stopped};
use super::*;

fn kind(text: &str) -> Option<AddressKind> {
    AddressKind::of(text.parse().unwrap())
}

#[test]
fn every_address_that_is_not_public_is_told_by_its_kind() {
    use AddressKind as Kind;
    for (addresses, expected) in [
        (&["0.0.0.0", "0.1.2.3", "::"][..], Kind::Unspecified),
        (&["127.0.0.1", "127.255.255.254", "::1"], Kind::Loopback),
        (&["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1"], Kind::Private),
        (&["fc00::1", "fd12:3456::1", "fdff::1", "fec0::1"], Kind::Private),
        (&["169.254.169.254", "169.254.0.1", "fe80::1", "febf::1"], Kind::LinkLocal),
        (&["100.64.0.1", "100.127.255.255"], Kind::Shared),
        (
            &["224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1", "ffff::1"],
            Kind::Multicast,
        ),
        (
            &[
                "192.0.0.1",
                "192.0.2.1",
                "192.31.196.1",
                "192.52.193.1",
                "192.88.99.1",
                "192.175.48.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "240.0.0.1",
                "255.255.255.254",
            ],
            Kind::Reserved,
        ),
        (
            &[
                "100::1",
                "2001::1",
                "2001:db8::1",
                "2001:1ff::1",
                "3fff::1",
                "3fff:fff::1",
                "64:ff9b:1::1",
                "4000::1",
                "5f00::1",
                "::8.8.8.8",
                "::7f00:1",
                "::ffff:0:8.8.8.8",
            ],
            Kind::Reserved,
        ),
        // IPv4 inside IPv6: mapped, NAT64, 6to4.
        (&["::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1"], Kind::Loopback),
        (&["::ffff:10.0.0.1", "64:ff9b::192.168.1.1", "2002:a00:1::"], Kind::Private),
        (
            &["::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::"],
            Kind::LinkLocal,
        ),
        (&["::ffff:100.64.0.1", "64:ff9b::100.64.0.1", "2002:6440:1::"], Kind::Shared),
        (&["::ffff:0.0.0.0", "64:ff9b::0.0.0.0"], Kind::Unspecified),
        (&["::ffff:224.0.0.1", "64:ff9b::224.0.0.1"], Kind::Multicast),
    ] {
        for address in addresses {
            assert_eq!(kind(address), Some(expected), "{address}");
        }
    }
}

#[test]
fn public_addresses_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2600::1",
        "2a00:1450:4001::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "3ffe::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ] {
        assert_eq!(kind(address), None, "{address}");
    }
}

#[test]
fn urls_are_checked_before_anything_is_resolved() {
    let egress = Egress::public();
    let check = |url: &str| egress.check(url);
    assert_eq!(check("https://acme.com/.well-known/mx"), Ok(()));
    assert_eq!(check("https://acme.com:443/x?y"), Ok(()));
    assert_eq!(check("HTTPS://ACME.com/"), Ok(()));
    for bad in ["", "acme.com", "https://", "https://a b/", "https://a%00b/", "https://[::1/"] {
        assert_eq!(check(bad), Err(EgressError::Url), "{bad}");
    }
    for bad in [
        "http://acme.com/",
        "file:///etc/passwd",
        "ftp://acme.com/",
        "gopher://acme.com/1",
        "data:,x",
    ] {
        assert_eq!(check(bad), Err(EgressError::Scheme), "{bad}");
    }
    for bad in ["https://u@acme.com/", "https://:p@acme.com/", "https://acme.com/#x"] {
        assert_eq!(check(bad), Err(EgressError::Extras), "{bad}");
    }
    for (port, bad) in [
        (80, "https://acme.com:80/"),
        (22, "https://acme.com:22/"),
        (8443, "https://acme.com:8443/"),
    ] {
        assert_eq!(check(bad), Err(EgressError::Port(port)), "{bad}");
    }
    let long = format!("https://acme.com/{}", "x".repeat(2048));
    assert_eq!(check(&long), Err(EgressError::Url));
}

#[test]
fn an_address_in_place_of_a_name_is_refused_however_it_is_written() {
    let egress = Egress::public();
    for url in [
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://0x7f.1/",
        "https://127.0.0.1./",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://169.254.169.254/",
        "https://0/",
        "https://[fe80::1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://8.8.8.8/",
        "https://①②⑦.0.0.1/",
        "https://[2600::1]/",
    ] {
        assert!(matches!(egress.check(url), Err(EgressError::Literal(_))), "{url}");
    }
}

#[test]
fn exceptions_are_as_wide_as_they_say() {
    let egress = Egress::public()
        .allow_network("10.20.0.0/16")
        .and_then(|egress| egress.allow_network("fd12::/48"))
        .and_then(|egress| egress.allow_network("192.0.2.7"))
        .unwrap()
        .allow_host("Inside.Example")
        .allow_port(8443);
    for url in [
        "https://10.20.3.4/",
        "https://[::ffff:10.20.3.4]:8443/",
        "https://[fd12::1]/",
        "https://192.0.2.7/",
    ] {
        assert_eq!(egress.check(url), Ok(()), "{url}");
    }
    for url in [
        "https://10.21.0.1/",
        "https://[fd12:0:1::1]/",
        "https://192.0.2.8/",
        "https://[64:ff9b::a14:1]/",
    ] {
        assert!(matches!(egress.check(url), Err(EgressError::Literal(_))), "{url}");
    }
    assert_eq!(egress.check("https://a.com:8444/"), Err(EgressError::Port(8444)));
    let loopback = "127.0.0.1".parse().unwrap();
    assert_eq!(egress.address("inside.example", loopback), Ok(()));
    let refused = EgressError::Address { address: loopback, kind: AddressKind::Loopback };
    assert_eq!(egress.address("outside.example", loopback), Err(refused));
    for bad in ["", "10.0.0.0/33", "acme.com", "10.0.0/8"] {
        assert_eq!(
            Egress::public().allow_network(bad).map(drop),
            Err(EgressError::Network),
            "{bad}"
        );
    }
}

/// Says what it was told to, and how often it was asked.
#[derive(Debug, Default)]
struct Told(HashMap<&'static str, Vec<IpAddr>>, Mutex<u32>);

impl Told {
    fn with(mut self, host: &'static str, addresses: &[&str]) -> Self {
        self.0.insert(host, addresses.iter().map(|text| text.parse().unwrap()).collect());
        self
    }
}

#[async_trait::async_trait]
impl Resolver for Told {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        *self.1.lock().unwrap() += 1;
        self.0.get(host).cloned().ok_or(ResolveError)
    }
}

fn told() -> Told {
    Told::default()
        .with("good.example", &["8.8.8.8", "2600::1"])
        .with("none.example", &[])
        .with("loopback.example", &["127.0.0.1"])
        .with("metadata.example", &["169.254.169.254"])
        .with("private.example", &["192.168.1.1"])
        .with("mixed.example", &["8.8.8.8", "10.0.0.1"])
        .with("last.example", &["2600::1", "::1"])
        .with("mapped.example", &["::ffff:10.0.0.1"])
        .with("nat64.example", &["64:ff9b::7f00:1"])
        .with("sixtofour.example", &["2002:c0a8:101::1"])
        .with("shared.example", &["100.64.0.1"])
        .with("any.example", &["0.0.0.0"])
        .with("multicast.example", &["ff02::1"])
}

fn http(resolver: std::sync::Arc<Told>) -> Http {
    let certificate = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let second = Duration::from_secs(1);
    let limits = HttpLimits { connect: second, total: second, bytes: 100 };
    Http::new(Egress::public(), resolver, roots, limits).unwrap()
}

#[tokio::test]
async fn a_name_is_refused_for_any_address_that_is_not_public() {
    let http = http(std::sync::Arc::new(told()));
    for (host, expected) in [
        ("loopback.example", AddressKind::Loopback),
        ("metadata.example", AddressKind::LinkLocal),
        ("private.example", AddressKind::Private),
        ("mixed.example", AddressKind::Private),
        ("last.example", AddressKind::Loopback),
        ("mapped.example", AddressKind::Private),
        ("nat64.example", AddressKind::Loopback),
        ("sixtofour.example", AddressKind::Private),
        ("shared.example", AddressKind::Shared),
        ("any.example", AddressKind::Unspecified),
        ("multicast.example", AddressKind::Multicast),
    ] {
        match http.get(&format!("https://{host}/")).await {
            Err(FetchError::Egress(EgressError::Address { kind, .. })) => {
                assert_eq!(kind, expected, "{host}");
            }
            other => panic!("{host}: {other:?}"),
        }
    }
    for host in ["none.example", "nobody.example"] {
        let result = http.get(&format!("https://{host}/")).await;
        assert_eq!(result, Err(FetchError::Resolve(ResolveError)), "{host}");
    }
}

#[tokio::test]
async fn what_a_name_was_checked_for_is_what_is_handed_on() {
    let checked = Checked { egress: Egress::public(), resolver: std::sync::Arc::new(told()) };
    let handed = checked.addresses("good.example").await.unwrap();
    let handed: Vec<_> = handed.iter().map(ToString::to_string).collect();
    assert_eq!(handed, ["8.8.8.8:0", "[2600::1]:0"]);
    assert!(matches!(checked.addresses("mixed.example").await, Err(Stopped::Egress(_))));
}

#[tokio::test]
async fn an_address_is_refused_without_asking_anybody() {
    let resolver = std::sync::Arc::new(told());
    let http = http(std::sync::Arc::clone(&resolver));
    let result = http.get("https://2130706433/").await;
    assert_eq!(result, Err(FetchError::Egress(EgressError::Literal("127.0.0.1".parse().unwrap()))));
    assert_eq!(*resolver.1.lock().unwrap(), 0);
}
