//! What there is, by name: the server lists a bounded number at a time.

use mesh_core::name::ConsumerName;
use mesh_core::port::{Held, Operation, TransportError};
use mesh_core::topology::{ConsumerRef, StreamName};
use serde::Deserialize;
use serde_json::json;

use super::Admin;
use crate::api::Api;
use crate::api_error::api_error;

/// Some of the names.
#[derive(Debug, Deserialize)]
struct Page {
    total: usize,
    /// Left out, or nothing, where there are none.
    #[serde(default, alias = "consumers")]
    streams: Option<Vec<String>>,
}

impl<A: Api> Admin<A> {
    pub(super) async fn list_all(&self) -> Result<Vec<Held>, TransportError> {
        let mut all = Vec::new();
        for name in self.names("streams", "$JS.API.STREAM.NAMES").await? {
            let Some(stream) = StreamName::from_name(&name) else {
                all.push(Held::Other(name));
                continue;
            };
            all.push(Held::Stream(stream));
            let consumers = format!("$JS.API.CONSUMER.NAMES.{stream}");
            for name in self.names(stream.as_str(), &consumers).await? {
                all.push(match ConsumerName::new(name.as_str()) {
                    Ok(consumer) => Held::Consumer(ConsumerRef::new(stream, consumer)),
                    Err(_) => Held::Other(format!("{stream}/{name}")),
                });
            }
        }
        Ok(all)
    }

    /// None, where what they would be names of is gone by now.
    async fn names(&self, about: &str, subject: &str) -> Result<Vec<String>, TransportError> {
        let mut names = Vec::new();
        loop {
            let body = json!({ "offset": names.len() });
            let page =
                match self.look::<Page>(Operation::Inspect, about, subject, Some(body)).await? {
                    Ok(page) => page,
                    Err(refused) if refused.is_absence() => return Ok(Vec::new()),
                    Err(refused) => return Err(api_error(Operation::Inspect, about, &refused)),
                };
            let some = page.streams.unwrap_or_default();
            let is_last = some.is_empty() || names.len() + some.len() >= page.total;
            names.extend(some);
            if is_last {
                return Ok(names);
            }
        }
    }
}
