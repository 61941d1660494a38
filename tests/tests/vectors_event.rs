//! The golden vectors of events and credentials (protocol §3 and §5).
//!
//! Strict: every file of the two directories is read, every key of a vector is known, every vector
//! says what is expected of it, and names are not used twice.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use mesh_core::credential::{BrokerUrl, Document, EnrolmentToken};
use mesh_core::event::Event;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<G, V> {
    /// The protocol's section.
    section: String,
    vectors: Vec<Named<G, V>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named<G, V> {
    name: String,
    given: G,
    expect: Expected<V>,
}

/// What a vector ends in: a value, or an error's text.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected<V> {
    Value(V),
    Error(String),
}

trait Vector: DeserializeOwned {
    type Value: DeserializeOwned + PartialEq + std::fmt::Debug;

    fn run(self) -> Result<Self::Value, String>;
}

/// A message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    headers: Vec<(String, String)>,
    body: String,
}

/// What a message was read as, and how the same event is written.
#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct ReadEvent {
    id: String,
    publish_id: String,
    headers: Vec<(String, String)>,
    body: String,
    /// The body of structured mode.
    structured: String,
}

impl Vector for Message {
    type Value = ReadEvent;

    fn run(self) -> Result<ReadEvent, String> {
        let headers = self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let event = Event::decode(headers, self.body.into()).map_err(|e| e.to_string())?;
        let (headers, structured) = event.structured();
        let again = headers.iter().map(|(n, v)| (&**n, &**v));
        let again = Event::decode(again, structured.clone()).unwrap();
        assert_eq!(again.headers(), event.headers());
        assert_eq!(again.data().as_str(), event.data().as_str().trim());
        let headers = event.headers();
        let again = headers.iter().map(|(n, v)| (&**n, &**v));
        let body = event.data().as_bytes().clone();
        assert_eq!(Event::decode(again, body).as_ref(), Ok(&event));
        Ok(ReadEvent {
            id: event.id().to_string(),
            publish_id: event.publish_id(),
            headers: headers.into_iter().map(|(name, value)| (name.into_owned(), value)).collect(),
            body: event.data().as_str().to_owned(),
            structured: String::from_utf8(structured.to_vec()).unwrap(),
        })
    }
}

/// The text of a credential's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialText {
    document: String,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct ReadCredential {
    /// Absent for a bootstrap URL.
    #[serde(default)]
    principal: Option<String>,
    /// The two tokens of its inbox.
    #[serde(default)]
    inbox: Option<(String, String)>,
    url: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    fingerprints: Vec<String>,
}

impl ReadCredential {
    fn of(url: &BrokerUrl) -> Self {
        let login = url.server().and_then(|server| server.login());
        Self {
            principal: None,
            inbox: None,
            url: url.to_string(),
            user: login.map(|login| login.user().to_owned()),
            password: login.map(|login| login.password().expose().to_owned()),
            fingerprints: Vec::new(),
        }
    }
}

impl Vector for CredentialText {
    type Value = ReadCredential;

    fn run(self) -> Result<ReadCredential, String> {
        Ok(match Document::parse(&self.document).map_err(|e| e.to_string())? {
            Document::Bootstrap(bootstrap) => ReadCredential::of(bootstrap.url()),
            Document::Scoped(credential) => {
                let again = credential.to_document().unwrap();
                let again = Document::parse(again.expose());
                assert_eq!(again, Ok(Document::Scoped(credential.clone())));
                let (what, which) = credential.principal().inbox_tokens();
                ReadCredential {
                    principal: Some(credential.principal().to_string()),
                    inbox: Some((what.to_owned(), which.to_owned())),
                    fingerprints: credential
                        .fingerprints()
                        .iter()
                        .map(ToString::to_string)
                        .collect(),
                    ..ReadCredential::of(credential.url())
                }
            }
        })
    }
}

/// The text of an enrolment token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenText {
    token: String,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct ReadToken {
    id: String,
    secret: String,
    node: String,
    url: String,
    fingerprints: Vec<String>,
    controller_key: String,
}

impl Vector for TokenText {
    type Value = ReadToken;

    fn run(self) -> Result<ReadToken, String> {
        let token = EnrolmentToken::parse(&self.token).map_err(|e| e.to_string())?;
        let again = token.to_text().unwrap();
        assert_eq!(EnrolmentToken::parse(again.expose()).as_ref(), Ok(&token));
        Ok(ReadToken {
            id: token.id().to_string(),
            secret: token.secret().expose().to_owned(),
            node: token.node().to_string(),
            url: token.url().to_string(),
            fingerprints: token.fingerprints().iter().map(ToString::to_string).collect(),
            controller_key: token.controller_key().to_string(),
        })
    }
}

/// Runs a file's vectors; the answer is one line for each that came out otherwise.
fn run<T: Vector>(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let file: File<T, T::Value> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(file.section.starts_with('§'), "{}", path.display());
    assert!(!file.vectors.is_empty(), "{} has no vector", path.display());
    let mut names = HashSet::new();
    let mut wrong = Vec::new();
    for Named { name, given, expect } in file.vectors {
        assert!(names.insert(name.clone()), "{}: {name} twice", path.display());
        let found = given.run();
        let expected = match expect {
            Expected::Value(value) => Ok(value),
            Expected::Error(error) => Err(error),
        };
        if found != expected {
            wrong.push(format!("{name}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    wrong
}

/// The name of a file, and what runs it.
type Runner<'a> = (&'a str, fn(&Path) -> Vec<String>);

/// Runs every file of a directory with the runner of its name.
fn run_directory(directory: &str, runners: &[Runner<'_>]) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(directory);
    let mut found: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut known: Vec<_> = runners.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(found, known, "each file has a runner and each runner a file");
    let run = |(name, run): &Runner<'_>| run(&directory.join(name));
    let wrong: Vec<String> = runners.iter().flat_map(run).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn events_are_read_and_written_as_the_vectors_say() {
    run_directory(
        "event",
        &[
            ("header-mode.json", run::<Message>),
            ("refused.json", run::<Message>),
            ("structured-mode.json", run::<Message>),
        ],
    );
}

#[test]
fn credentials_and_tokens_are_read_as_the_vectors_say() {
    run_directory(
        "credential",
        &[
            ("bootstrap.json", run::<CredentialText>),
            ("refused.json", run::<CredentialText>),
            ("scoped.json", run::<CredentialText>),
            ("token.json", run::<TokenText>),
        ],
    );
}

#[test]
fn a_vector_with_an_unknown_key_or_no_expectation_is_refused() {
    let given = r#"{"document": "mem:"}"#;
    let parse =
        |text: String| serde_json::from_str::<Named<CredentialText, ReadCredential>>(&text).is_ok();
    assert!(parse(format!(
        r#"{{"name":"a","given":{given},"expect":{{"value":{{"url":"mem:"}}}}}}"#
    )));
    assert!(!parse(format!(
        r#"{{"name":"a","given":{given},"expect":{{"value":{{"url":"mem:","x":1}}}}}}"#
    )));
    assert!(!parse(format!(r#"{{"name":"a","given":{given},"expect":{{}}}}"#)));
    assert!(!parse(format!(r#"{{"name":"a","given":{given},"expect":{{"error":"x"}},"x":1}}"#)));
    assert!(!parse(r#"{"name":"a","given":{"x":1},"expect":{"error":"x"}}"#.to_owned()));
}
