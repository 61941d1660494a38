//! A tool's failure on the wire (protocol §6): two headers for whoever looks at headers, and a JSON
//! body for whoever looks at bodies.
//!
//! ```
//! use mesh_core::message::Headers;
//! use mesh_core::tool::ToolFailure;
//!
//! let failure = ToolFailure::new("NO_SUCH_ACCOUNT", "there is no account 7");
//! let mut headers = Headers::default();
//! let body = failure.encode(&mut headers);
//! assert_eq!(headers.value("Nats-Service-Error-Code"), Some("NO_SUCH_ACCOUNT"));
//! assert_eq!(ToolFailure::decode(&headers, &body), Some(failure));
//! ```

#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::message::{HeaderValue, Headers, names};
use crate::port::Reason;

/// Codes that the runtime itself answers with.
pub mod codes {
    /// The input does not decode.
    pub const BAD_REQUEST: &str = "MESH.BAD_REQUEST";
    /// The handler panicked.
    pub const PANICKED: &str = "MESH.HANDLER_PANICKED";
    /// The handler failed without a code of its own.
    pub const FAILED: &str = "MESH.HANDLER_FAILED";
    /// The time that the caller gave was over before a handler could run: none has.
    pub const TIMED_OUT: &str = "MESH.TIMED_OUT";
    /// A provider was asked for something that its manifest does not provide.
    pub const NOT_PROVIDED: &str = "MESH.NOT_PROVIDED";
    /// A provider made a credential that has not the promised fields.
    pub const BAD_CREDENTIAL: &str = "MESH.BAD_CREDENTIAL";
    /// A provider can't look up what it has granted, or can't keep it.
    pub const GRANTS_AWAY: &str = "MESH.GRANTS_AWAY";
}

/// A tool that was reached and says no: a code for programs, a message for people, and perhaps
/// details as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolFailure {
    /// For programs: 1 to 100 of `A–Z a–z 0–9 . _ -`.
    pub code: String,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// As the tool gave them, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<RawValue>>,
}

#[derive(Serialize, Deserialize)]
struct Body<T> {
    error: T,
}

impl ToolFailure {
    /// A failure without details. Characters that a code may not hold become `_`; an empty code
    /// becomes [`codes::FAILED`].
    #[must_use]
    pub fn new(code: impl AsRef<str>, message: impl Into<String>) -> Self {
        let legal = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }
        };
        let mut code: String = code.as_ref().chars().take(100).map(legal).collect();
        if code.is_empty() {
            code = codes::FAILED.to_owned();
        }
        Self { code, message: message.into(), details: None }
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: Box<RawValue>) -> Self {
        self.details = Some(details);
        self
    }

    /// Sets the headers and gives the body of the answer.
    #[must_use]
    pub fn encode(&self, headers: &mut Headers) -> Bytes {
        let line = Reason::new(&self.message);
        for (name, text) in
            [(names::SERVICE_ERROR, line.as_str()), (names::SERVICE_ERROR_CODE, &self.code)]
        {
            // A reason is one line and a code is ASCII, so neither is ever refused; the body says
            // the same in any case.
            if let Ok(value) = HeaderValue::new(text.to_owned()) {
                headers.set(name, value);
            }
        }
        headers.set(names::CONTENT_TYPE, HeaderValue::json());
        // Strings and JSON text always encode.
        serde_json::to_vec(&Body { error: self }).unwrap_or_default().into()
    }

    /// The failure that an answer carries, if it carries one: by its headers, with the body's code,
    /// message and details where the body is of that shape.
    #[must_use]
    pub fn decode(headers: &Headers, body: &[u8]) -> Option<Self> {
        let code = headers.value(names::SERVICE_ERROR_CODE.as_str());
        let line = headers.value(names::SERVICE_ERROR.as_str());
        if code.is_none() && line.is_none() {
            return None;
        }
        if let Ok(Body { error }) = serde_json::from_slice::<Body<Self>>(body) {
            // The body is a stranger's: its code is held to what a code may be.
            return Some(Self { details: error.details, ..Self::new(error.code, error.message) });
        }
        Some(Self::new(code.unwrap_or_default(), line.unwrap_or_default()))
    }
}

impl PartialEq for ToolFailure {
    fn eq(&self, other: &Self) -> bool {
        let text = |failure: &Self| failure.details.as_ref().map(|d| d.get().to_owned());
        self.code == other.code && self.message == other.message && text(self) == text(other)
    }
}

impl Eq for ToolFailure {}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ToolFailure {}
