use std::fmt;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{Profile, Shard};
use mesh_core::name::RealmName;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The most bytes of a document.
pub(super) const MAX_BYTES: usize = 64 * 1024;
/// The most elements of each of its lists.
const MAX_LIST: usize = 256;
/// How long a document is kept that does not say.
const DEFAULT_AGE: Duration = Duration::from_secs(3600);

/// What a realm says of itself at `/.well-known/mx`: MXDISC/1 (protocol §8).
///
/// ```
/// use mesh_core::name::RealmName;
/// use mesh_federation::discovery::{Document, EndpointKind};
///
/// let acme = RealmName::new("acme.com")?;
/// let document = Document::new(acme).with_endpoint("https://gw.acme.com/mx/1/in");
/// let text = document.to_json();
/// assert!(text.starts_with(r#"{"version":1,"realm":"acme.com","profiles":["mxenv1"],"shards":["00"],"#));
///
/// let read = Document::from_slice(text.as_bytes())?;
/// assert_eq!(read.endpoints(EndpointKind::Https).next(), Some("https://gw.acme.com/mx/1/in"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    realm: RealmName,
    profiles: Vec<Profile>,
    shards: Vec<Shard>,
    endpoints: Vec<(EndpointKind, String)>,
    jwks_uri: Option<String>,
    jwks: Option<String>,
    max_age: Duration,
}

/// How an endpoint takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndpointKind {
    /// An envelope is the body of a POST.
    Https,
}

/// Why bytes are no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is no strict JSON (protocol §8), or not of the shape, or larger than 64 KiB.
    #[error("document: not of the shape of MXDISC/1")]
    Shape,
    /// Its version is not 1.
    #[error("document: version {0} in place of 1")]
    Version(u64),
    /// A list is longer than 256.
    #[error("document: a list of more than {MAX_LIST}")]
    TooMany,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    version: u64,
    realm: String,
    #[serde(default)]
    profiles: Vec<String>,
    #[serde(default)]
    shards: Vec<String>,
    #[serde(default)]
    endpoints: Vec<WireEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_age_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct WireEndpoint {
    kind: String,
    url: String,
}

impl Document {
    /// A realm that speaks MXENV/1 at shard `00`, without an endpoint or keys, to be kept for an hour.
    #[must_use]
    pub fn new(realm: RealmName) -> Self {
        Self {
            realm,
            profiles: vec![Profile::MxEnv1],
            shards: vec![Shard::default()],
            endpoints: Vec::new(),
            jwks_uri: None,
            jwks: None,
            max_age: DEFAULT_AGE,
        }
    }

    /// The same with these profiles.
    #[must_use]
    pub fn with_profiles(mut self, profiles: &[Profile]) -> Self {
        self.profiles = profiles.to_vec();
        self
    }

    /// The same with these shards.
    #[must_use]
    pub fn with_shards(mut self, shards: &[Shard]) -> Self {
        self.shards = shards.to_vec();
        self
    }

    /// The same with an HTTPS endpoint more.
    #[must_use]
    pub fn with_endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoints.push((EndpointKind::Https, url.into()));
        self
    }

    /// The same with keys in it: the text of a JWKS.
    #[must_use]
    pub fn with_jwks(mut self, jwks: &RawJson<'_>) -> Self {
        self.jwks = Some(jwks.as_str().to_owned());
        self
    }

    /// The same with the place where the keys are.
    #[must_use]
    pub fn with_jwks_uri(mut self, url: impl Into<String>) -> Self {
        self.jwks_uri = Some(url.into());
        self
    }

    /// The same, to be kept for so long: whole milliseconds. Readers hold it to 1 min–24 h.
    #[must_use]
    pub const fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Reads a document. What this version does not know (fields, profiles, kinds of endpoint) is passed
    /// over.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn from_slice(bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = RawJson::from_slice(bytes, MAX_BYTES).map_err(|_| DocumentError::Shape)?;
        let wire: Wire = text.to().map_err(|_| DocumentError::Shape)?;
        if wire.version != 1 {
            return Err(DocumentError::Version(wire.version));
        }
        let lists = [wire.profiles.len(), wire.shards.len(), wire.endpoints.len()];
        if lists.iter().any(|length| *length > MAX_LIST) {
            return Err(DocumentError::TooMany);
        }
        let known = |endpoint: WireEndpoint| {
            EndpointKind::from_name(&endpoint.kind).map(|kind| (kind, endpoint.url))
        };
        let shards: Option<Vec<_>> = wire.shards.iter().map(|text| shard(text)).collect();
        Ok(Self {
            realm: RealmName::new(wire.realm).map_err(|_| DocumentError::Shape)?,
            profiles: wire.profiles.iter().filter_map(|name| Profile::from_name(name)).collect(),
            shards: shards.ok_or(DocumentError::Shape)?,
            endpoints: wire.endpoints.into_iter().filter_map(known).collect(),
            jwks_uri: wire.jwks_uri,
            jwks: wire.jwks.map(|jwks| Box::<str>::from(jwks).into()),
            max_age: wire.max_age_ms.map_or(DEFAULT_AGE, Duration::from_millis),
        })
    }

    /// The document as it is served.
    #[must_use]
    pub fn to_json(&self) -> String {
        let endpoint = |(kind, url): &(EndpointKind, String)| WireEndpoint {
            kind: kind.as_str().to_owned(),
            url: url.clone(),
        };
        let wire = Wire {
            version: 1,
            realm: self.realm.as_str().to_owned(),
            profiles: self.profiles.iter().map(|profile| profile.name().to_owned()).collect(),
            shards: self.shards.iter().map(ToString::to_string).collect(),
            endpoints: self.endpoints.iter().map(endpoint).collect(),
            jwks_uri: self.jwks_uri.clone(),
            // Checked when it came.
            jwks: self.jwks.clone().and_then(|jwks| RawValue::from_string(jwks).ok()),
            max_age_ms: Some(u64::try_from(self.max_age.as_millis()).unwrap_or(u64::MAX)),
        };
        // Texts and numbers alone: nothing that could fail.
        serde_json::to_string(&wire).unwrap_or_default()
    }

    /// Whose it is.
    #[must_use]
    pub const fn realm(&self) -> &RealmName {
        &self.realm
    }

    /// The profiles that it reads, of those known here, the one it likes best first.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Its mailboxes on the backbone.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The URLs of its endpoints of one kind, the one it likes best first. Words of a stranger: whoever
    /// connects checks them ([`Egress`](super::Egress)).
    pub fn endpoints(&self, kind: EndpointKind) -> impl Iterator<Item = &str> {
        self.endpoints.iter().filter(move |(of, _)| *of == kind).map(|(_, url)| url.as_str())
    }

    /// Its keys, where they stand in the document: the text of a JWKS.
    #[must_use]
    pub fn jwks(&self) -> Option<&str> {
        self.jwks.as_deref()
    }

    /// Where its keys are, if not in the document.
    #[must_use]
    pub fn jwks_uri(&self) -> Option<&str> {
        self.jwks_uri.as_deref()
    }

    /// How long it may be kept.
    #[must_use]
    pub const fn max_age(&self) -> Duration {
        self.max_age
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("realm", &self.realm)
            .field("endpoints", &self.endpoints)
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}

impl EndpointKind {
    /// `https`
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        (name == Self::Https.as_str()).then_some(Self::Https)
    }
}

fn shard(text: &str) -> Option<Shard> {
    let digits = text.len() == 2 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    digits.then(|| u8::from_str_radix(text, 16).ok().map(Shard)).flatten()
}
