//! A broker's URL, read without a fallback for anything that is missing.
//!
//! ```text
//! amqps :// m : a%23b @ [::1] : 5671 / v%2Fw
//! ──┬──     ┬   ──┬──   ──┬──   ──┬─   ──┬──
//!   scheme  user  password host   port   virtual host
//! ```

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Host, Login, Secret, Server, VirtualHost};
use crate::name::InstanceName;
use crate::percent::{self, PercentError};

/// Where a broker is and as whom to log in.
///
/// `Display` and `Debug` leave the password out; [`expose`](Self::expose) writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokerUrl {
    /// `amqps://`: RabbitMQ over TLS, port 5671 unless told.
    Amqps {
        /// The broker.
        server: Server,
        /// `/` where the URL has no path or only a `/`.
        vhost: VirtualHost,
    },
    /// `tls://` or `nats://`: NATS, with TLS either way, port 4222 unless told.
    Nats {
        /// The broker.
        server: Server,
    },
    /// `mem:` or `mem:<name>`: a broker in this process.
    Memory {
        /// Which, where there are several.
        name: Option<InstanceName>,
    },
}

/// Why a text is not a broker's URL. Never holds any of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("broker URL: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct UrlError {
    /// What is wrong.
    pub problem: UrlProblem,
    /// Byte offset of the part that is wrong.
    pub offset: usize,
}

/// What is wrong with a text that should have been a broker's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlProblem {
    /// Not `amqps://`, `tls://`, `nats://` or `mem:`. There is no scheme without TLS.
    Scheme,
    /// A space, a control character or one outside ASCII.
    Character,
    /// A `/ ? # @` in the user or password that is not percent-encoded.
    Reserved,
    /// A `%` without two hexadecimal digits.
    Escape,
    /// Percent-decoded bytes that are not UTF-8.
    Utf8,
    /// A control character in the user, password or virtual host.
    Control,
    /// No user, or an empty one.
    User,
    /// No password, or an empty one.
    Password,
    /// Not a host's name or address.
    Host,
    /// Not a number from 1 to 65535.
    Port,
    /// A path where the scheme has none.
    Path,
    /// Not one path segment of 1 to 255 bytes; a `/` inside a virtual host is written `%2F`.
    VirtualHost,
    /// A query or a fragment.
    Query,
    /// Not the name of a broker in the process.
    Name,
}

impl fmt::Display for UrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "the scheme is none of amqps://, tls://, nats://, mem:",
            Self::Character => "a character that must be percent-encoded",
            Self::Reserved => "a reserved character before the host must be percent-encoded",
            Self::Escape => "a `%` without two hexadecimal digits",
            Self::Utf8 => "percent-encoded bytes that are not UTF-8",
            Self::Control => "a control character",
            Self::User => "no user",
            Self::Password => "no password",
            Self::Host => "not a host",
            Self::Port => "not a port",
            Self::Path => "this scheme has no path",
            Self::VirtualHost => "not a virtual host (one segment, `/` inside it is `%2F`)",
            Self::Query => "a query or fragment",
            Self::Name => "not a broker's name",
        })
    }
}

impl FromStr for BrokerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if let Some(offset) = text.bytes().position(|b| !b.is_ascii_graphic()) {
            return refused(UrlProblem::Character, offset);
        }
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        let scheme = scheme.to_ascii_lowercase();
        let after = text.len() - rest.len();
        match (&*scheme, rest.strip_prefix("//")) {
            ("mem", _) if rest.is_empty() => Ok(Self::Memory { name: None }),
            ("mem", _) => match InstanceName::new(rest) {
                Ok(name) => Ok(Self::Memory { name: Some(name) }),
                Err(_) => refused(UrlProblem::Name, after),
            },
            ("amqps", Some(rest)) => {
                let (server, path, at) = server(rest, after + 2, 5671)?;
                let vhost = match decoded(path, at)?.as_str() {
                    // RabbitMQ reads `amqps://host/` as the virtual host with the empty name, which
                    // nobody has: whoever writes the slash means the default one.
                    "" => VirtualHost::new("/"),
                    _ if path.contains('/') => Err(UrlProblem::VirtualHost),
                    name => VirtualHost::new(name),
                };
                let vhost = vhost.or_else(|problem| refused(problem, at))?;
                Ok(Self::Amqps { server, vhost })
            }
            ("tls" | "nats", Some(rest)) => {
                let (server, path, at) = server(rest, after + 2, 4222)?;
                if !path.is_empty() {
                    return refused(UrlProblem::Path, at);
                }
                Ok(Self::Nats { server })
            }
            _ => refused(UrlProblem::Scheme, 0),
        }
    }
}

impl BrokerUrl {
    /// The server, where it is not in this process.
    #[must_use]
    pub fn server(&self) -> Option<&Server> {
        match self {
            Self::Amqps { server, .. } | Self::Nats { server } => Some(server),
            Self::Memory { .. } => None,
        }
    }

    /// The same broker with this log-in; one in this process has none.
    #[must_use]
    pub fn with_login(mut self, login: Login) -> Self {
        if let Self::Amqps { server, .. } | Self::Nats { server } = &mut self {
            *server = server.clone().with_login(login);
        }
        self
    }

    /// The URL with the password in it, in canonical form: NATS as `tls://`, port always written.
    #[must_use]
    pub fn expose(&self) -> String {
        self.written(|login| encode(login.password().expose()))
    }

    fn written(&self, password: impl Fn(&Login) -> String) -> String {
        let authority = |server: &Server| {
            let login = server
                .login()
                .map(|login| format!("{}:{}@", encode(login.user()), password(login)));
            let login = login.unwrap_or_default();
            format!("{login}{}:{}", server.host(), server.port())
        };
        match self {
            Self::Amqps { server, vhost } => {
                format!("amqps://{}/{}", authority(server), encode(vhost.as_str()))
            }
            Self::Nats { server } => format!("tls://{}", authority(server)),
            Self::Memory { name: None } => "mem:".into(),
            Self::Memory { name: Some(name) } => format!("mem:{name}"),
        }
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(|_| "[redacted]".into()))
    }
}

/// Reads `[user:password@]host[:port]`; answers the path without its `/`, and its offset.
fn server(rest: &str, start: usize, default_port: u16) -> Result<(Server, &str, usize), UrlError> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if !authority.contains('@') && tail.contains('@') {
        return refused(UrlProblem::Reserved, start + end);
    }
    if let Some(query) = tail.find(['?', '#']) {
        return refused(UrlProblem::Query, start + end + query);
    }
    let (login, host_at) = match authority.split_once('@') {
        None => (None, 0),
        Some((_, host)) if host.contains('@') => {
            return refused(UrlProblem::Reserved, start + authority.len() - host.len() - 1);
        }
        Some((userinfo, _)) => (Some(login(userinfo, start)?), userinfo.len() + 1),
    };
    let host = &authority[host_at..];
    // A colon inside brackets belongs to the address.
    let name_end = host.rfind(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match host[name_end..].find(':') {
        None => (host, None),
        Some(colon) => {
            host.split_at_checked(name_end + colon).map_or((host, None), |(h, p)| (h, Some(p)))
        }
    };
    let named = Host::new(host).or_else(|problem| refused(problem, start + host_at))?;
    let port_at = start + host_at + host.len() + 1;
    let port = match port.map(|text| &text[1..]) {
        None => default_port,
        Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse().or_else(|_| refused(UrlProblem::Port, port_at))?
        }
        Some(_) => return refused(UrlProblem::Port, port_at),
    };
    let server = Server::new(named, port, login).or_else(|problem| refused(problem, port_at))?;
    let path = tail.strip_prefix('/').unwrap_or(tail);
    Ok((server, path, start + rest.len() - path.len()))
}

fn login(userinfo: &str, start: usize) -> Result<Login, UrlError> {
    let Some((user, password)) = userinfo.split_once(':') else {
        let missing = if userinfo.is_empty() { UrlProblem::User } else { UrlProblem::Password };
        return refused(missing, start + userinfo.len());
    };
    let password_at = start + user.len() + 1;
    let user = decoded(user, start)?;
    let password = Secret::new(decoded(password, password_at)?);
    Login::new(user, password).or_else(|problem| match problem {
        UrlProblem::Password => refused(problem, password_at),
        _ => refused(problem, start),
    })
}

fn decoded(text: &str, start: usize) -> Result<String, UrlError> {
    match percent::decode(text) {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(PercentError::BadEscape { offset }) => refused(UrlProblem::Escape, start + offset),
        Err(PercentError::NotUtf8 { offset }) => refused(UrlProblem::Utf8, start + offset),
    }
}

/// Keeps RFC 3986's unreserved characters.
fn encode(text: &str) -> String {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

fn refused<T>(problem: UrlProblem, offset: usize) -> Result<T, UrlError> {
    Err(UrlError { problem, offset })
}
