use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;

use super::{Egress, EgressError};

/// The most addresses of a name that are looked at.
const MAX_ADDRESSES: usize = 32;

/// Turns names into addresses.
#[async_trait]
pub trait Resolver: Send + Sync + fmt::Debug {
    /// The addresses of `host`.
    ///
    /// # Errors
    /// [`ResolveError`] where there is no such name, or nobody can say.
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError>;
}

/// A name that nobody knows the address of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name does not resolve")]
#[non_exhaustive]
pub struct ResolveError;

/// What the operating system is set up to ask.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let found = tokio::net::lookup_host((host, 0)).await.map_err(|_| ResolveError)?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// What stands between reqwest and the network: it hands out only addresses that have been looked at, and
/// reqwest connects to what it is handed.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) egress: Egress,
    pub(super) resolver: Arc<dyn Resolver>,
}

impl Checked {
    /// All addresses of `host`, each of which may be connected to. One that may not be refuses the name:
    /// whoever gives it out means harm, or has made a mistake that should be seen.
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<SocketAddr>, Stopped> {
        let found = self.resolver.resolve(host).await.map_err(Stopped::Resolve)?;
        if found.is_empty() {
            return Err(Stopped::Resolve(ResolveError));
        }
        for address in &found {
            self.egress.address(host, *address).map_err(Stopped::Egress)?;
        }
        // Port 0 stands for the URL's.
        Ok(found
            .into_iter()
            .take(MAX_ADDRESSES)
            .map(|address| SocketAddr::new(address, 0))
            .collect())
    }
}

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let checked = Self { egress: self.egress.clone(), resolver: Arc::clone(&self.resolver) };
        Box::pin(async move {
            let addresses = checked.addresses(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

/// Why no connection was tried: found again in the chain of a request's error.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Stopped {
    #[error(transparent)]
    Egress(EgressError),
    #[error(transparent)]
    Resolve(ResolveError),
}
