//! Which addresses are nobody's business from outside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressKind {
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// `10/8`, `172.16/12`, `192.168/16`, `fc00::/7`, `fec0::/10`.
    Private,
    /// `169.254/16`, `fe80::/10`: among others a cloud's metadata.
    LinkLocal,
    /// `100.64/10`, behind a carrier's NAT.
    Shared,
    /// `224/4`, `ff00::/8`, and the broadcast address.
    Multicast,
    /// Kept for documentation, measuring, protocols or the future.
    Reserved,
}

impl AddressKind {
    /// What is wrong with `address`; `None` for one that is public. An IPv4 address inside one of IPv6
    /// (mapped, compatible, NAT64, 6to4) is looked at as itself.
    #[must_use]
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// One word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Shared => "shared",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

fn of_v4(address: Ipv4Addr) -> Option<AddressKind> {
    use AddressKind as Kind;
    match address.octets() {
        [0, ..] => Some(Kind::Unspecified),
        [127, ..] => Some(Kind::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Kind::Private),
        [169, 254, ..] => Some(Kind::LinkLocal),
        [100, 64..=127, ..] => Some(Kind::Shared),
        [224..=239, ..] | [255, 255, 255, 255] => Some(Kind::Multicast),
        // IETF's own, AS112, 6to4 relays, measuring, three networks for documents, the future.
        [192, 0, 0 | 2, _]
        | [192, 31, 196, _]
        | [192, 52, 193, _]
        | [192, 88, 99, _]
        | [192, 175, 48, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Some(Kind::Reserved),
        _ => None,
    }
}

fn of_v6(address: Ipv6Addr) -> Option<AddressKind> {
    use AddressKind as Kind;
    let inside = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Kind::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Kind::Loopback),
        // Mapped. On the wire it is IPv4.
        [0, 0, 0, 0, 0, 0xffff, high, low] => inside(high, low),
        // NAT64's well-known prefix, and 6to4: where it ends is the address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => inside(high, low),
        // Compatible (of old) and translated addresses: whatever is inside, nobody public has one.
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(Kind::Reserved),
        [0xfe80..=0xfebf, ..] => Some(Kind::LinkLocal),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Kind::Private),
        [0xff00..=0xffff, ..] => Some(Kind::Multicast),
        // Teredo and the rest of IETF's own, documents twice.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Some(Kind::Reserved)
        }
        // What is given out as public.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Kind::Reserved),
    }
}
