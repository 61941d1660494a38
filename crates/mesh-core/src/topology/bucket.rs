//! Where a bucket of shared state lies on a nats-server.

use crate::store::{BucketName, StoreKey};
use crate::subject::{Filter, Subject};

/// Where a bucket of [shared state](crate::store::KeyValue) lies on a nats-server: a stream that keeps the
/// newest of each subject, as its key-value buckets are laid out everywhere, and repeats what it stores on
/// subjects that nobody may publish to. Who watches listens there, and so needs no consumer.
///
/// ```
/// use mesh_core::store::{BucketName, StoreKey};
/// use mesh_core::topology::BucketAddress;
///
/// let marks = BucketAddress::of(BucketName::new("marks")?);
/// assert_eq!(marks.stream(), "KV_marks");
/// let key = StoreKey::new("a.1")?;
/// assert_eq!(marks.entry(&key).as_str(), "$KV.marks.a.1");
/// assert_eq!(marks.changes().as_str(), "mesh.state.marks.>");
/// assert_eq!(marks.key_of_change("mesh.state.marks.a.1"), Some(key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketAddress {
    bucket: BucketName,
}

impl BucketAddress {
    /// That of this bucket.
    #[must_use]
    pub const fn of(bucket: BucketName) -> Self {
        Self { bucket }
    }

    /// The bucket.
    #[must_use]
    pub fn bucket(&self) -> &BucketName {
        &self.bucket
    }

    /// The stream's name: `KV_<bucket>`.
    #[must_use]
    pub fn stream(&self) -> String {
        format!("KV_{}", self.bucket)
    }

    /// Where an entry is stored: `$KV.<bucket>.<key>`. A bucket's name and a key are short enough together.
    #[must_use]
    pub fn entry(&self, key: &StoreKey) -> Subject {
        Subject::from_checked(format!("$KV.{}.{key}", self.bucket))
    }

    /// All entries: `$KV.<bucket>.>`.
    #[must_use]
    pub fn entries(&self) -> Filter {
        Filter::from_checked(format!("$KV.{}.>", self.bucket))
    }

    /// Where what was stored is repeated: `mesh.state.<bucket>.>`, with the key at the end.
    #[must_use]
    pub fn changes(&self) -> Filter {
        Filter::from_checked(format!("mesh.state.{}.>", self.bucket))
    }

    /// The key of a subject of [`changes`](Self::changes).
    #[must_use]
    pub fn key_of_change(&self, subject: &str) -> Option<StoreKey> {
        self.key("mesh.state.", subject)
    }

    /// The key of a subject of [`entries`](Self::entries).
    #[must_use]
    pub fn key_of_entry(&self, subject: &str) -> Option<StoreKey> {
        self.key("$KV.", subject)
    }

    /// A question to the server's API about the stream: how it is configured, and its last number.
    #[must_use]
    pub fn inspect(&self) -> Subject {
        self.api("INFO")
    }

    /// A question to the server's API: what is stored under a subject. The stream's leader answers.
    #[must_use]
    pub fn read(&self) -> Subject {
        self.api("MSG.GET")
    }

    /// An order to the server's API: the stream is made. An administrator's.
    #[must_use]
    pub fn create(&self) -> Subject {
        self.api("CREATE")
    }

    fn api(&self, verb: &str) -> Subject {
        Subject::from_checked(format!("$JS.API.STREAM.{verb}.KV_{}", self.bucket))
    }

    fn key(&self, begin: &str, subject: &str) -> Option<StoreKey> {
        let rest = subject.strip_prefix(begin)?.strip_prefix(self.bucket.as_str())?;
        StoreKey::new(rest.strip_prefix('.')?).ok()
    }
}
