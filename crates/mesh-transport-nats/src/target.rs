//! Where to connect, as whom, and whom to trust there.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use mesh_core::credential::{
    BrokerUrl, Credential, EnrolmentToken, Fingerprints, Host, Login, Server,
};
use mesh_core::identity::Principal;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_session::Destination;

use crate::proof::Proof;

/// Where to connect, as whom, and whom to trust there.
///
/// What comes from a [`Credential`] or an [`EnrolmentToken`] always has TLS with a pinned certificate; nothing takes that away.
/// No CA bundle is needed. The client library reads the machine's all the same, so where `SSL_CERT_FILE` or
/// `SSL_CERT_DIR` names what isn't there, connecting is `Invalid`, and the error names the variable.
///
/// A log-in whose user is a public nkey (`U…`) has its seed (`SU…`) for a password: the server gets a signature, and
/// never the seed. Any other is sent as a user and a password.
///
/// `Display` is the address; neither it nor `Debug` shows the password.
#[derive(Debug, Clone)]
pub struct Target {
    host: Host,
    port: u16,
    login: Login,
    proof: Proof,
    principal: Principal,
    trust: Trust,
}

#[derive(Debug, Clone)]
enum Trust {
    Pinned(Fingerprints),
    Loopback,
}

/// Why there is nothing to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The credential's URL is another broker's.
    #[error("the credential's URL is neither tls:// nor nats://")]
    NotNats,
    /// The credential's URL has no user or no password: one would connect as nobody.
    #[error("the credential's URL has no user and password")]
    NoLogin,
    /// The user has the shape of a public nkey, and is none: there is a slip in it, or it is not a user's.
    #[error("the user is not a user's public nkey, though it looks like one")]
    NotAnNKey,
    /// The user is a public nkey, and the password not its seed.
    #[error("the password is not the seed of the user's nkey")]
    OtherSeed,
    /// The password is the seed of an nkey, and the user not its public half: it would be sent to the server.
    #[error("the password is the seed of an nkey, and the user is not that nkey")]
    SeedAsPassword,
    /// Without TLS only an address of this machine is allowed.
    #[error("{0} is not a loopback address: there is no connection without TLS to another machine")]
    NotLoopback(SocketAddr),
    /// Port 0.
    #[error("port 0 is nowhere")]
    NoPort,
}

impl Target {
    /// The server of a credential (protocol §5).
    ///
    /// # Errors
    /// [`TargetError::NotNats`], [`TargetError::NoLogin`], and those of nkeys.
    pub fn of(credential: &Credential) -> Result<Self, TargetError> {
        let server = nats(credential.url())?;
        let login = server.login().ok_or(TargetError::NoLogin)?;
        Self::pinning(server, login, credential.principal().clone(), credential.fingerprints())
    }

    /// The server of an enrolment token, for the program that enrols with it: it may publish its request and
    /// hear the answer, and nothing else (protocol §5, §6).
    ///
    /// # Errors
    /// [`TargetError::NotNats`], and those of nkeys.
    pub fn of_enrolment(token: &EnrolmentToken) -> Result<Self, TargetError> {
        let server = nats(token.url())?;
        Self::pinning(server, token.login(), Principal::from(token), token.fingerprints())
    }

    fn pinning(
        server: &Server,
        login: &Login,
        principal: Principal,
        fingerprints: &Fingerprints,
    ) -> Result<Self, TargetError> {
        Ok(Self {
            host: server.host().clone(),
            port: server.port(),
            proof: Proof::of(login)?,
            login: login.clone(),
            principal,
            trust: Trust::Pinned(fingerprints.clone()),
        })
    }

    /// A server on this machine that is reached **without TLS**, for tests and benchmarks: the password
    /// is sent to whoever listens there. No credential leads here, and no option.
    ///
    /// # Errors
    /// [`TargetError::NotLoopback`] for any address but this machine's own, those of nkeys, and
    /// [`TargetError::NoPort`].
    pub fn insecure_loopback(
        address: SocketAddr,
        login: Login,
        principal: Principal,
    ) -> Result<Self, TargetError> {
        if !address.ip().is_loopback() {
            return Err(TargetError::NotLoopback(address));
        }
        if address.port() == 0 {
            return Err(TargetError::NoPort);
        }
        let host = match address.ip() {
            IpAddr::V4(address) => Host::from(address),
            IpAddr::V6(address) => Host::from(address),
        };
        let proof = Proof::of(&login)?;
        Ok(Self { host, port: address.port(), login, proof, principal, trust: Trust::Loopback })
    }

    /// Who connects.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn login(&self) -> &Login {
        &self.login
    }

    /// How the log-in is proven.
    pub(crate) fn proof(&self) -> Proof {
        self.proof
    }

    /// The certificates that the server may present; `None` is a connection without TLS, which only
    /// [`insecure_loopback`](Self::insecure_loopback) makes.
    pub(crate) fn pinned(&self) -> Option<&Fingerprints> {
        match &self.trust {
            Trust::Pinned(fingerprints) => Some(fingerprints),
            Trust::Loopback => None,
        }
    }
}

fn nats(url: &BrokerUrl) -> Result<&Server, TargetError> {
    match url {
        BrokerUrl::Nats { server } => Ok(server),
        _ => Err(TargetError::NotNats),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.pinned().is_some() { "tls" } else { "nats" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl From<TargetError> for TransportError {
    fn from(error: TargetError) -> Self {
        let detail = error.to_string();
        Self::new(ErrorKind::Invalid, Operation::Connect).detail(detail).caused_by(error)
    }
}

impl Destination for Target {
    fn of(credential: &Credential) -> Result<Self, TransportError> {
        Ok(Self::of(credential)?)
    }

    fn principal(&self) -> &Principal {
        self.principal()
    }
}

#[cfg(test)]
mod tests {
    use mesh_core::credential::{ControllerKey, Secret};

    use super::*;

    fn credential(url: &str) -> Credential {
        let pin = "ab".repeat(32);
        let document = format!(
            r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
        );
        Credential::parse(document).unwrap()
    }

    fn loopback(address: &str) -> Result<Target, TargetError> {
        let login = Login::new("u", Secret::new("hunter2")).unwrap();
        let principal = Principal::Host { node: "n1".parse().unwrap() };
        Target::insecure_loopback(address.parse().unwrap(), login, principal)
    }

    #[test]
    fn every_url_of_nats_means_tls_and_the_pin() {
        for url in ["tls://u:p%40ss@bus.example", "nats://u:p%40ss@bus.example"] {
            let target = Target::of(&credential(url)).unwrap();
            assert_eq!(target.to_string(), "tls://bus.example:4222");
            assert_eq!(target.pinned(), Some(credential(url).fingerprints()));
            assert_eq!(target.login().password().expose(), "p@ss");
            assert!(!format!("{target:?}").contains("p@ss"));
        }
    }

    #[test]
    fn an_enrolment_token_leads_to_its_own_user_with_the_pin() {
        let pins = credential("tls://u:p@h").fingerprints().clone();
        let token = |url: &str| {
            let (id, node) = ("t0k3n".parse().unwrap(), "n3".parse().unwrap());
            let key = ControllerKey::from_bytes([9; 32]);
            let secret = Secret::new("hunter2");
            EnrolmentToken::new(id, secret, node, url.parse().unwrap(), pins.clone(), key).unwrap()
        };
        let target = Target::of_enrolment(&token("tls://bus.example")).unwrap();
        assert_eq!(target.to_string(), "tls://bus.example:4222");
        assert_eq!(target.principal().to_string(), "enrolment t0k3n");
        assert_eq!((target.login().user(), target.pinned()), ("enrol.t0k3n", Some(&pins)));
        assert!(!format!("{target:?}").contains("hunter2"));
        let elsewhere = Target::of_enrolment(&token("amqps://bus.example"));
        assert_eq!(elsewhere.unwrap_err(), TargetError::NotNats);
    }

    #[test]
    fn another_brokers_url_is_refused() {
        for url in ["amqps://u:p@bus.example", "mem:"] {
            assert_eq!(Target::of(&credential(url)).unwrap_err(), TargetError::NotNats);
        }
    }

    #[test]
    fn without_tls_there_is_only_this_machine() {
        assert_eq!(loopback("127.0.0.1:4222").unwrap().to_string(), "nats://127.0.0.1:4222");
        assert_eq!(loopback("[::1]:4222").unwrap().to_string(), "nats://[::1]:4222");
        for elsewhere in ["192.0.2.1:4222", "0.0.0.0:4222", "[2001:db8::1]:4222", "[::]:4222"] {
            let refused = loopback(elsewhere).unwrap_err();
            assert_eq!(refused, TargetError::NotLoopback(elsewhere.parse().unwrap()));
            assert_eq!(TransportError::from(refused).kind(), ErrorKind::Invalid);
        }
        assert_eq!(loopback("127.0.0.1:0").unwrap_err(), TargetError::NoPort);
    }
}
