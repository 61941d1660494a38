//! Values that a gateway's file writes in words of its own.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mesh_core::guard::Stage;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use mesh_core::store::BucketName;
use mesh_federation::security::Algorithm;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// A kind of mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mailbox {
    Legacy,
    Mx,
    LegacyRaw,
}

pub(super) fn usual_mailboxes() -> Spanned<Vec<Mailbox>> {
    Spanned::new(0..0, vec![Mailbox::Legacy, Mailbox::Mx])
}

/// A span of time: a number with `ms`, `s`, `min` or `h`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "a number with ms, s, min or h, such as \"5s\"";
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            "h" => 3_600_000,
            _ => return Err(WANTED),
        };
        let number: u64 = number.parse().map_err(|_| WANTED)?;
        let span = number.checked_mul(millis).filter(|span| *span <= 366 * 24 * 3_600_000);
        span.map(|span| Self(Duration::from_millis(span))).ok_or("a year at most")
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// How realms are written to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileName {
    /// As realms of before MXENV/1 speak.
    Legacy,
    /// MXENV/1.
    #[default]
    #[value(name = "mxenv1")]
    MxEnv1,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Legacy => Self::Legacy,
            ProfileName::MxEnv1 => Self::MxEnv1,
        }
    }
}

/// The stage of a guard that may be in shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StageName {
    Expiry,
    Security,
    Replay,
    Rate,
    Policy,
}

impl From<StageName> for Stage {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Expiry => Self::Expiry,
            StageName::Security => Self::Security,
            StageName::Replay => Self::Replay,
            StageName::Rate => Self::Rate,
            StageName::Policy => Self::Policy,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
pub(crate) enum AlgorithmName {
    /// Ed25519.
    #[default]
    #[serde(rename = "EdDSA")]
    #[value(name = "EdDSA")]
    EdDsa,
    /// ECDSA with P-256.
    #[serde(rename = "ES256")]
    #[value(name = "ES256")]
    Es256,
}

impl From<AlgorithmName> for Algorithm {
    fn from(name: AlgorithmName) -> Self {
        match name {
            AlgorithmName::EdDsa => Self::EdDsa,
            AlgorithmName::Es256 => Self::Es256,
        }
    }
}

/// A broker: one of this process, or the one that a credential leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bus {
    Memory,
    Credential(PathBuf),
}

/// What the gateway remembers, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Memory,
    File(PathBuf),
    Nats(Buckets),
}

/// Buckets of a nats-server, which are there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Buckets {
    pub(crate) credential: PathBuf,
    #[serde(default)]
    pub(crate) leases: Option<BucketText>,
    #[serde(default)]
    pub(crate) sessions: Option<BucketText>,
    #[serde(default)]
    pub(crate) marks: Option<BucketText>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketText(pub(crate) BucketName);

impl<'de> Deserialize<'de> for BucketText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BucketName::new(text).map(Self).map_err(D::Error::custom)
    }
}

/// Which realms have to prove themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Required {
    #[default]
    All,
    None,
    Realms(BTreeSet<RealmName>),
}

/// A word, or a table.
struct WordOr<T>(std::marker::PhantomData<T>);

/// What stands for a word or for a table.
trait Choice: Sized {
    const EXPECTED: &'static str;
    fn word(word: &str) -> Option<Self>;
    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

impl<'de, T: Choice> Visitor<'de> for WordOr<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        T::word(word).ok_or_else(|| E::custom(format!("expected {}", T::EXPECTED)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::table(map)
    }
}

impl Choice for Bus {
    const EXPECTED: &'static str = "\"memory\" or { credential = \"FILE\" }";

    fn word(word: &str) -> Option<Self> {
        (word == "memory").then_some(Self::Memory)
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            credential: PathBuf,
        }
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Self::Credential(table.credential))
    }
}

impl Choice for State {
    const EXPECTED: &'static str =
        "\"memory\", { file = \"FILE\" } or { nats = { credential = \"FILE\" } }";

    fn word(word: &str) -> Option<Self> {
        (word == "memory").then_some(Self::Memory)
    }

    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            file: Option<PathBuf>,
            nats: Option<Buckets>,
        }
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        match (table.file, table.nats) {
            (Some(file), None) => Ok(Self::File(file)),
            (None, Some(buckets)) => Ok(Self::Nats(buckets)),
            _ => Err(A::Error::custom(format!("expected {}", Self::EXPECTED))),
        }
    }
}

impl<'de> Deserialize<'de> for Bus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOr(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOr(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Required {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Required;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", \"none\" or a list of realms")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Required, E> {
                match word {
                    "all" => Ok(Required::All),
                    "none" => Ok(Required::None),
                    _ => Err(E::custom("expected \"all\", \"none\" or a list of realms")),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Required, A::Error> {
                let mut realms = BTreeSet::new();
                while let Some(realm) = list.next_element()? {
                    realms.insert(realm);
                }
                Ok(Required::Realms(realms))
            }
        }
        deserializer.deserialize_any(Words)
    }
}
