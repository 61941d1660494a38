//! Where this program connects to because a stranger said so.

mod address;
mod http;
mod resolve;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::str::FromStr as _;

use ipnet::IpNet;
use url::{Host, Url};

pub use address::AddressKind;
pub use http::FetchError;
pub(super) use http::{Http, HttpLimits};
pub use resolve::{ResolveError, Resolver, SystemResolver};

/// The most bytes of a URL.
const MAX_URL_BYTES: usize = 2048;

/// What may be connected to. Without an exception: names whose every address is public, at port 443, over
/// HTTPS.
///
/// A realm's name, and the URLs in its document, are words of strangers. So no address of this machine's own
/// networks is connected to, whether it is written in a URL or what a name resolves to; and the connection is
/// made to the very address that was looked at.
///
/// ```
/// use mesh_federation::discovery::Egress;
///
/// let egress = Egress::public().allow_network("10.20.0.0/16")?.allow_port(8443);
/// assert!(egress.check("https://10.20.1.1:8443/mx/1/in").is_ok());
/// assert!(egress.check("https://10.30.1.1/mx/1/in").is_err());
/// # Ok::<(), mesh_federation::discovery::EgressError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Egress {
    networks: Vec<IpNet>,
    hosts: Vec<String>,
    ports: Vec<u16>,
}

/// Why a URL, a name or an address is not connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// It is no URL, or longer than 2048 bytes.
    #[error("not a URL of at most {MAX_URL_BYTES} bytes")]
    Url,
    /// Its scheme is not `https`.
    #[error("not an https URL")]
    Scheme,
    /// It has a user, a password or a fragment.
    #[error("a URL with a user, a password or a fragment")]
    Extras,
    /// Its port is not 443, and not allowed.
    #[error("port {0} is not allowed")]
    Port(u16),
    /// It has an address in place of a name, and that is not allowed, public or not.
    #[error("an address in place of a name: {0}")]
    Literal(IpAddr),
    /// The name resolves to an address that is not public and not allowed, perhaps beside others.
    #[error("a name of a {kind} address: {address}")]
    Address {
        /// The address.
        address: IpAddr,
        /// What it is.
        kind: AddressKind,
    },
    /// A text is no network in CIDR.
    #[error("not a network in CIDR")]
    Network,
}

impl Egress {
    /// No exceptions.
    #[must_use]
    pub fn public() -> Self {
        Self::default()
    }

    /// Also addresses of this network, `10.20.0.0/16` or `fd12::/48`: as what a name resolves to, and
    /// written in a URL.
    ///
    /// # Errors
    /// [`EgressError::Network`].
    pub fn allow_network(mut self, cidr: &str) -> Result<Self, EgressError> {
        let network = cidr
            .parse::<IpNet>()
            .or_else(|_| IpAddr::from_str(cidr).map(IpNet::from))
            .map_err(|_| EgressError::Network)?;
        self.networks.push(network);
        Ok(self)
    }

    /// Also whatever this name resolves to.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts.push(host.to_ascii_lowercase());
        self
    }

    /// Also this port.
    #[must_use]
    pub fn allow_port(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Whether a URL may be connected to as far as its text tells: what its name resolves to is looked at
    /// when that is known.
    ///
    /// # Errors
    /// [`EgressError`].
    pub fn check(&self, url: &str) -> Result<(), EgressError> {
        self.url(url).map(drop)
    }

    pub(super) fn url(&self, text: &str) -> Result<Url, EgressError> {
        if text.len() > MAX_URL_BYTES {
            return Err(EgressError::Url);
        }
        let url = Url::parse(text).map_err(|_| EgressError::Url)?;
        if url.scheme() != "https" {
            return Err(EgressError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(EgressError::Extras);
        }
        let port = url.port_or_known_default().unwrap_or(443);
        if port != 443 && !self.ports.contains(&port) {
            return Err(EgressError::Port(port));
        }
        // The parser has turned `0x7f.1`, `2130706433` and their like into addresses.
        match url.host() {
            Some(Host::Domain(_)) => Ok(url),
            Some(Host::Ipv4(address)) => self.literal(address.into()).map(|()| url),
            Some(Host::Ipv6(address)) => self.literal(address.into()).map(|()| url),
            None => Err(EgressError::Url),
        }
    }

    fn literal(&self, address: IpAddr) -> Result<(), EgressError> {
        if self.contains(address) { Ok(()) } else { Err(EgressError::Literal(address)) }
    }

    /// Whether `host`, which resolves to `address`, may be connected to there.
    pub(super) fn address(&self, host: &str, address: IpAddr) -> Result<(), EgressError> {
        let Some(kind) = AddressKind::of(address) else {
            return Ok(());
        };
        if self.contains(address) || self.hosts.iter().any(|of| of.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        Err(EgressError::Address { address, kind })
    }

    /// An IPv4 address that is written as one of IPv6 is the same address.
    fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}
