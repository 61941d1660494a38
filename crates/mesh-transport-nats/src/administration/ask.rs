//! Questions to the server's API, and the answers' shapes.

use std::collections::HashMap;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::{ConsumerRef, StreamName};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Admin;
use super::setting::Config;
use crate::api::Api;
use crate::api_error::{ApiError, Malformed, api_error, malformed};

/// What is said of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct StreamInfo {
    pub(super) config: Config,
    /// When it was made.
    #[serde(default)]
    pub(super) created: Option<String>,
    pub(super) state: State,
    /// How many subjects there are to list, where it was asked to.
    #[serde(default)]
    pub(super) total: u64,
}

/// What a stream holds.
#[derive(Debug, Deserialize)]
pub(super) struct State {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    pub(super) consumer_count: u64,
    /// How many messages each subject has, where it was asked for.
    #[serde(default)]
    pub(super) subjects: Option<HashMap<String, u64>>,
}

/// What is said of a consumer.
#[derive(Debug, Deserialize)]
pub(super) struct ConsumerInfo {
    pub(super) config: Config,
    pub(super) num_pending: u64,
    pub(super) num_ack_pending: u64,
    #[serde(default)]
    pub(super) num_redelivered: u64,
    /// Whether somebody listens where it delivers to. Left out where nobody does.
    #[serde(default)]
    pub(super) push_bound: bool,
    /// Whether somebody with the server's API keeps it from delivering for a time.
    #[serde(default)]
    pub(super) paused: bool,
}

/// An answer may hold an error in place of what was asked for.
#[derive(Deserialize)]
struct Outcome {
    error: Option<ApiError>,
}

/// A stream or a consumer, by its address in the API.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object<'a> {
    Stream(StreamName),
    Consumer(&'a ConsumerRef),
}

impl Object<'_> {
    /// As errors and drifts name it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Stream(stream) => stream.to_string(),
            Self::Consumer(consumer) => consumer.to_string(),
        }
    }

    /// The subject that makes it.
    fn create(self) -> String {
        match self {
            Self::Stream(stream) => format!("$JS.API.STREAM.CREATE.{stream}"),
            Self::Consumer(ConsumerRef { stream, consumer }) => {
                format!("$JS.API.CONSUMER.CREATE.{stream}.{consumer}")
            }
        }
    }

    fn update(self) -> String {
        match self {
            Self::Stream(stream) => format!("$JS.API.STREAM.UPDATE.{stream}"),
            Self::Consumer(_) => self.create(),
        }
    }

    /// The body that makes or updates it.
    fn body(self, action: &'static str, config: &Config) -> Value {
        match self {
            Self::Stream(_) => json!(config),
            Self::Consumer(consumer) => json!({
                "stream_name": consumer.stream.as_str(),
                "action": action,
                "config": config,
            }),
        }
    }
}

/// What an answer to a creation or an update shows: the configuration as it is then.
#[derive(Deserialize)]
struct Configured {
    config: Config,
}

impl<A: Api> Admin<A> {
    /// Asks for a change; the server's refusal is an answer too.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        operation: Operation,
        about: &str,
        subject: &str,
        body: Option<Value>,
    ) -> Result<Result<T, ApiError>, TransportError> {
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let answer = self.api.call(operation, subject, body, self.settings.timeout).await?;
        read(&answer).map_err(|problem| malformed(operation, about, problem))
    }

    /// Asks for what is, which changes nothing and so may be asked again. A cluster does not answer for
    /// what has no leader yet, because another controller has just made it.
    pub(super) async fn look<T: DeserializeOwned>(
        &self,
        operation: Operation,
        about: &str,
        subject: &str,
        body: Option<Value>,
    ) -> Result<Result<T, ApiError>, TransportError> {
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let first = self.settings.timeout / 4;
        let mut left = self.settings.timeout;
        let answer = loop {
            let patience = if left > first * 2 { first } else { left };
            left -= patience;
            match self.api.call(operation, subject, body.clone(), patience).await {
                Err(error) if error.kind() == ErrorKind::TimedOut && !left.is_zero() => {}
                answer => break answer?,
            }
        };
        read(&answer).map_err(|problem| malformed(operation, about, problem))
    }

    pub(super) async fn stream_info(
        &self,
        operation: Operation,
        stream: StreamName,
    ) -> Result<Option<StreamInfo>, TransportError> {
        self.info(operation, stream.as_str(), &format!("$JS.API.STREAM.INFO.{stream}")).await
    }

    /// What is said of a stream that is there, with how many messages each subject has, from the
    /// `offset`th subject on: the server lists a bounded number at a time.
    pub(super) async fn stream_subjects(
        &self,
        stream: StreamName,
        offset: u64,
    ) -> Result<StreamInfo, TransportError> {
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        let body = json!({ "subjects_filter": ">", "offset": offset });
        let answer = self.look(Operation::Assert, stream.as_str(), &subject, Some(body)).await?;
        answer.map_err(|refused| api_error(Operation::Assert, stream.as_str(), &refused))
    }

    pub(super) async fn consumer_info(
        &self,
        operation: Operation,
        of: &ConsumerRef,
    ) -> Result<Option<ConsumerInfo>, TransportError> {
        let ConsumerRef { stream, consumer } = of;
        let subject = format!("$JS.API.CONSUMER.INFO.{stream}.{consumer}");
        let info: Option<ConsumerInfo> = self.info(operation, &of.to_string(), &subject).await?;
        Ok(info.map(|info| ConsumerInfo { config: unified(info.config), ..info }))
    }

    /// `None` if it is not there.
    async fn info<T: DeserializeOwned>(
        &self,
        operation: Operation,
        about: &str,
        subject: &str,
    ) -> Result<Option<T>, TransportError> {
        match self.look(operation, about, subject, None).await? {
            Ok(info) => Ok(Some(info)),
            Err(refused) if refused.is_absence() => Ok(None),
            Err(refused) => Err(api_error(operation, about, &refused)),
        }
    }

    /// Makes it, and gives its configuration as the server has it.
    pub(super) async fn create(
        &self,
        object: Object<'_>,
        config: &Config,
    ) -> Result<Result<Config, ApiError>, TransportError> {
        self.configure(object, &object.create(), object.body("create", config)).await
    }

    /// Updates it in place, and gives its configuration as the server has it.
    pub(super) async fn update(
        &self,
        object: Object<'_>,
        config: &Config,
    ) -> Result<Result<Config, ApiError>, TransportError> {
        self.configure(object, &object.update(), object.body("update", config)).await
    }

    async fn configure(
        &self,
        object: Object<'_>,
        subject: &str,
        body: Value,
    ) -> Result<Result<Config, ApiError>, TransportError> {
        let answer = self.ask(Operation::Assert, &object.name(), subject, Some(body)).await?;
        Ok(answer.map(|Configured { config }| unified(config)))
    }
}

/// A consumer of one filter may have it under another name.
fn unified(mut config: Config) -> Config {
    if let Some(Value::String(filter)) = config.remove("filter_subject")
        && !filter.is_empty()
    {
        config.insert("filter_subjects".to_owned(), json!([filter]));
    }
    config
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<Result<T, ApiError>, Malformed> {
    let outcome: Outcome = serde_json::from_slice(answer)?;
    match outcome.error {
        Some(refused) => Ok(Err(refused)),
        None => Ok(Ok(serde_json::from_slice(answer)?)),
    }
}
