//! Where to connect, as whom, and whom to trust there.

use std::fmt;

use mesh_core::credential::{BrokerUrl, Credential, Fingerprints, Host, Login, VirtualHost};
use mesh_core::identity::Principal;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_session::Destination;

/// Where to connect, as whom, and whom to trust there. There is always TLS with a pinned certificate, and
/// nothing takes that away; no CA bundle is needed or read.
///
/// `Display` is the address with the virtual host; neither it nor `Debug` shows the password.
#[derive(Debug, Clone)]
pub struct Target {
    host: Host,
    port: u16,
    vhost: VirtualHost,
    login: Login,
    principal: Principal,
    pinned: Fingerprints,
}

/// Why there is nothing to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The credential's URL is another broker's.
    #[error("the credential's URL is not amqps://")]
    NotAmqp,
    /// The credential's URL has no user or no password: one would connect as nobody, or as `guest`.
    #[error("the credential's URL has no user and password")]
    NoLogin,
    /// The user is longer than the 255 bytes that AMQP can say who sent a message in.
    #[error("the user is {0} bytes long, at most 255 are allowed")]
    LongUser(usize),
}

impl Target {
    /// The broker of a credential (protocol §5).
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn of(credential: &Credential) -> Result<Self, TargetError> {
        let BrokerUrl::Amqps { server, vhost } = credential.url() else {
            return Err(TargetError::NotAmqp);
        };
        let login = server.login().ok_or(TargetError::NoLogin)?;
        if login.user().len() > 255 {
            return Err(TargetError::LongUser(login.user().len()));
        }
        Ok(Self {
            host: server.host().clone(),
            port: server.port(),
            vhost: vhost.clone(),
            login: login.clone(),
            principal: credential.principal().clone(),
            pinned: credential.fingerprints().clone(),
        })
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

    pub(crate) fn vhost(&self) -> &VirtualHost {
        &self.vhost
    }

    pub(crate) fn login(&self) -> &Login {
        &self.login
    }

    /// The certificates that the broker may present.
    pub(crate) fn pinned(&self) -> &Fingerprints {
        &self.pinned
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vhost = self.vhost.as_str();
        write!(f, "amqps://{}:{} (virtual host {vhost:?})", self.host, self.port)
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
    use super::*;

    fn credential(url: &str) -> Credential {
        let pin = "ab".repeat(32);
        let document = format!(
            r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
        );
        Credential::parse(document).unwrap()
    }

    #[test]
    fn a_url_means_what_it_says() {
        let target = Target::of(&credential("amqps://m:a%23b@[::1]/v%2Fw")).unwrap();
        assert_eq!(target.to_string(), "amqps://[::1]:5671 (virtual host \"v/w\")");
        assert_eq!((target.login().user(), target.login().password().expose()), ("m", "a#b"));
        assert_eq!(target.pinned(), credential("amqps://m:p@h").fingerprints());
        assert!(!format!("{target:?}").contains("a#b"));
    }

    #[test]
    fn another_brokers_url_is_refused() {
        let refused = Target::of(&credential("tls://u:p@bus.example")).unwrap_err();
        assert_eq!(refused, TargetError::NotAmqp);
        assert_eq!(TransportError::from(refused).kind(), ErrorKind::Invalid);
    }

    #[test]
    fn a_user_that_no_message_can_name_is_refused() {
        let url = format!("amqps://{}:p@h", "u".repeat(256));
        assert_eq!(Target::of(&credential(&url)).unwrap_err(), TargetError::LongUser(256));
    }
}
