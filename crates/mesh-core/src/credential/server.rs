//! The parts of a broker's URL.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Secret, UrlProblem};

/// Where a broker listens, and as whom to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    host: Host,
    port: u16,
    login: Option<Login>,
}

impl Server {
    /// `port` is 1 to 65535.
    ///
    /// # Errors
    /// [`UrlProblem::Port`] for 0.
    pub fn new(host: Host, port: u16, login: Option<Login>) -> Result<Self, UrlProblem> {
        if port == 0 {
            return Err(UrlProblem::Port);
        }
        Ok(Self { host, port, login })
    }

    /// The same server with this log-in.
    #[must_use]
    pub fn with_login(self, login: Login) -> Self {
        Self { login: Some(login), ..self }
    }

    /// Its name or address.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The TCP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// User and password, always both; a [`Credential`](super::Credential) always has them.
    #[must_use]
    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }
}

/// A user and a password: neither empty, neither with a control character (a NUL would end the
/// user's part of an AMQP log-in).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    user: String,
    password: Secret,
}

impl Login {
    /// Checks both.
    ///
    /// # Errors
    /// [`UrlProblem::User`] or [`UrlProblem::Password`] where it is empty, and
    /// [`UrlProblem::Control`].
    pub fn new(user: impl Into<String>, password: Secret) -> Result<Self, UrlProblem> {
        let user = user.into();
        if user.is_empty() {
            return Err(UrlProblem::User);
        }
        if password.expose().is_empty() {
            return Err(UrlProblem::Password);
        }
        if user.chars().chain(password.expose().chars()).any(char::is_control) {
            return Err(UrlProblem::Control);
        }
        Ok(Self { user, password })
    }

    /// The user's name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &Secret {
        &self.password
    }
}

/// A host's name (ASCII letters, digits, `-`, `_` and `.`; kept in lower case) or address.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Host(Kind);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Name(Box<str>),
    Address(IpAddr),
}

impl Host {
    /// Reads a name, an IPv4 address, or an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// [`UrlProblem::Host`].
    pub fn new(text: &str) -> Result<Self, UrlProblem> {
        let bracketed = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        if let Some(inside) = bracketed {
            let address = inside.and_then(|inside| inside.parse::<Ipv6Addr>().ok());
            return address.map(Self::from).ok_or(UrlProblem::Host);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(Kind::Address(address)));
        }
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        // A name that ends in a number reads as an address elsewhere, and as another one each time.
        let number = |label: &str| match label.strip_prefix("0x").or(label.strip_prefix("0X")) {
            Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
            None => label.bytes().all(|b| b.is_ascii_digit()),
        };
        let last = text.rsplit('.').next().unwrap_or_default();
        if text.len() > 253 || !text.split('.').all(label) || number(last) {
            return Err(UrlProblem::Host);
        }
        Ok(Self(Kind::Name(text.to_ascii_lowercase().into())))
    }

    /// The address, where it is not a name.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.0 {
            Kind::Address(address) => Some(address),
            Kind::Name(_) => None,
        }
    }
}

impl From<Ipv4Addr> for Host {
    fn from(address: Ipv4Addr) -> Self {
        Self(Kind::Address(address.into()))
    }
}

impl From<Ipv6Addr> for Host {
    fn from(address: Ipv6Addr) -> Self {
        Self(Kind::Address(address.into()))
    }
}

impl fmt::Display for Host {
    /// As in a URL: an IPv6 address has brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Name(name) => f.write_str(name),
            Kind::Address(IpAddr::V4(address)) => address.fmt(f),
            Kind::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({self})")
    }
}

/// A virtual host of RabbitMQ: 1 to 255 bytes without a control character.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VirtualHost(Box<str>);

impl VirtualHost {
    /// Checks `name`, which is not percent-encoded.
    ///
    /// # Errors
    /// [`UrlProblem::VirtualHost`], or [`UrlProblem::Control`].
    pub fn new(name: impl Into<Box<str>>) -> Result<Self, UrlProblem> {
        let name = name.into();
        if !(1..=255).contains(&name.len()) {
            return Err(UrlProblem::VirtualHost);
        }
        if name.chars().any(char::is_control) {
            return Err(UrlProblem::Control);
        }
        Ok(Self(name))
    }

    /// The name, decoded.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
