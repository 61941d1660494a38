use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect;
use rustls::ClientConfig;
use rustls::crypto::ring::default_provider;
use url::Url;

use super::resolve::{Checked, Stopped};
use super::{Egress, EgressError, ResolveError, Resolver};

/// How long a request may take, and how much it may bring.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct HttpLimits {
    pub(in super::super) connect: Duration,
    pub(in super::super) total: Duration,
    pub(in super::super) bytes: usize,
}

/// Why nothing came over HTTPS. It holds no text of the other side's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It was not tried.
    #[error("not connected to: {0}")]
    Egress(#[from] EgressError),
    /// The name has no address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// No connection came about; nothing was sent.
    #[error("no connection")]
    Connect,
    /// The certificate is not one that is trusted, or TLS failed otherwise; nothing was sent.
    #[error("no trusted TLS")]
    Tls,
    /// It took too long; the request may have arrived.
    #[error("no answer in time")]
    Timeout,
    /// The connection broke, or the answer is no HTTP; the request may have arrived.
    #[error("the connection broke")]
    Broken,
    /// The answer's status is not one of success. Redirects are not followed.
    #[error("status {0}")]
    Status(u16),
    /// The answer is larger than allowed.
    #[error("an answer of more than {0} bytes")]
    TooLarge(usize),
}

impl FetchError {
    /// Whether it is certain that the other side has not taken what was sent.
    #[must_use]
    pub const fn is_certain(&self) -> bool {
        !matches!(self, Self::Timeout | Self::Broken | Self::TooLarge(_))
    }
}

/// HTTPS to whom [`Egress`] allows: no redirects, no proxy, no cookies, HTTP/1.1, TLS by ring.
#[derive(Clone)]
pub(in super::super) struct Http {
    client: reqwest::Client,
    egress: Egress,
    limits: HttpLimits,
}

impl Http {
    pub(in super::super) fn new(
        egress: Egress,
        resolver: Arc<dyn Resolver>,
        roots: rustls::RootCertStore,
        limits: HttpLimits,
    ) -> Result<Self, FetchError> {
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| FetchError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Checked { egress: egress.clone(), resolver })
            .redirect(redirect::Policy::none())
            .no_proxy()
            .https_only(true)
            .http1_only()
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(limits.connect)
            .timeout(limits.total)
            .pool_max_idle_per_host(4)
            .pool_idle_timeout(Duration::from_secs(30))
            .build()
            .map_err(|_| FetchError::Tls)?;
        Ok(Self { client, egress, limits })
    }

    /// What stands at `url`, of status 200.
    pub(in super::super) async fn get(&self, url: &str) -> Result<Bytes, FetchError> {
        let url = self.egress.url(url)?;
        let answer = self.send(self.client.get(url), |status| status == 200).await?;
        self.read(answer).await
    }

    /// Sends `body` to `url`; any status of success is one.
    pub(in super::super) async fn post(&self, url: &Url, body: Bytes) -> Result<(), FetchError> {
        let request =
            self.client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        // What the answer says beside its status is not read.
        self.send(request, |status| (200..300).contains(&status)).await.map(drop)
    }

    /// The URL, if it may be connected to.
    pub(in super::super) fn allowed(&self, url: &str) -> Result<Url, EgressError> {
        self.egress.url(url)
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        good: impl Fn(u16) -> bool + Send,
    ) -> Result<reqwest::Response, FetchError> {
        let answer = request.send().await.map_err(|error| reason(&error))?;
        let status = answer.status().as_u16();
        if !good(status) {
            return Err(FetchError::Status(status));
        }
        Ok(answer)
    }

    async fn read(&self, mut answer: reqwest::Response) -> Result<Bytes, FetchError> {
        let most = self.limits.bytes;
        let too_large = || FetchError::TooLarge(most);
        if answer.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_large());
        }
        let mut read = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| reason(&error))? {
            if read.len() + chunk.len() > most {
                return Err(too_large());
            }
            read.extend_from_slice(&chunk);
        }
        Ok(read.into())
    }
}

fn reason(error: &reqwest::Error) -> FetchError {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    let mut tls = false;
    while let Some(current) = cause {
        match current.downcast_ref() {
            Some(Stopped::Egress(error)) => return FetchError::Egress(error.clone()),
            Some(Stopped::Resolve(error)) => return FetchError::Resolve(*error),
            None => {}
        }
        tls |= holds_tls(current);
        cause = current.source();
    }
    if error.is_timeout() && !error.is_connect() {
        FetchError::Timeout
    } else if error.is_connect() {
        if tls { FetchError::Tls } else { FetchError::Connect }
    } else {
        FetchError::Broken
    }
}

/// An I/O error does not tell what it wraps as its cause.
fn holds_tls(error: &(dyn Error + 'static)) -> bool {
    error.is::<rustls::Error>()
        || error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            .is_some_and(|inner| holds_tls(inner))
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("egress", &self.egress)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
