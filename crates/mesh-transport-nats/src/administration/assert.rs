//! Creates what is missing, compares what is there, and has it mended.
//!
//! What is there already is only asked about, so that asserting the same again writes nothing. Two
//! controllers may do this at once: whoever comes second finds it made, and compares.

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use mesh_core::port::{Drift, ErrorKind, Operation, TransportError};
use mesh_core::topology::{ConsumerSpec, StreamSpec, Topology};

use super::ask::{Object, StreamInfo};
use super::check::check;
use super::plan::Plan;
use super::setting::{Config, Setting};
use super::{Admin, wanted};
use crate::api::Api;
use crate::api_error::{ApiError, api_error};

/// How many consumers are asked about at a time.
const AT_A_TIME: usize = 32;

impl<A: Api> Admin<A> {
    /// Streams that are there come first: one of them may give up a subject that a missing one takes.
    pub(super) async fn assert_all(
        &self,
        topology: &Topology,
        plan: Plan<'_>,
    ) -> Result<Vec<Drift>, TransportError> {
        self.settings.check()?;
        check(topology)?;
        let mut streams = Vec::new();
        for spec in topology.streams() {
            streams.push((spec, wanted::stream(spec, &self.settings)?));
        }
        for spec in topology.consumers() {
            wanted::consumer(spec)?;
        }
        self.check_other_streams(topology).await?;

        let mut drift = Vec::new();
        let mut missing = Vec::new();
        for (spec, settings) in &streams {
            match self.stream_info(Operation::Assert, spec.name).await? {
                Some(info) => drift.extend(self.compare_stream(spec, settings, info, plan).await?),
                None if plan.creates() => missing.push((*spec, settings)),
                None => {}
            }
        }
        for (spec, settings) in missing {
            drift.extend(self.create_stream(spec, settings, plan).await?);
        }
        let mut under_way = FuturesOrdered::new();
        for spec in topology.consumers() {
            if under_way.len() == AT_A_TIME
                && let Some(found) = under_way.next().await
            {
                drift.extend(found?);
            }
            under_way.push_back(self.assert_consumer(spec, plan));
        }
        while let Some(found) = under_way.next().await {
            drift.extend(found?);
        }
        Ok(drift)
    }

    /// A consumer may be one of a stream that the topology leaves out; that has to be there.
    async fn check_other_streams(&self, topology: &Topology) -> Result<(), TransportError> {
        let mut seen = Vec::new();
        for ConsumerSpec { reference, .. } in topology.consumers() {
            if topology.stream(reference.stream).is_some() || seen.contains(&reference.stream) {
                continue;
            }
            seen.push(reference.stream);
            if self.stream_info(Operation::Assert, reference.stream).await?.is_none() {
                let error = TransportError::new(ErrorKind::NotFound, Operation::Assert);
                return Err(error.about(reference.to_string()).detail("its stream is not there"));
            }
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        spec: &StreamSpec,
        settings: &[Setting],
        plan: Plan<'_>,
    ) -> Result<Vec<Drift>, TransportError> {
        let object = Object::Stream(spec.name);
        let mut config = whole(settings);
        config.insert("name".to_owned(), spec.name.as_str().into());
        match self.create(object, &config).await? {
            Ok(made) => Ok(drift(object, settings, &made, &made)),
            Err(refused) if refused.is_taken() => {
                let info = self.stream_info(Operation::Assert, spec.name).await?;
                let info = info.ok_or_else(|| assert_error(object, &refused))?;
                self.compare_stream(spec, settings, info, plan).await
            }
            Err(refused) => Err(assert_error(object, &refused)),
        }
    }

    async fn compare_stream(
        &self,
        spec: &StreamSpec,
        settings: &[Setting],
        info: StreamInfo,
        plan: Plan<'_>,
    ) -> Result<Vec<Drift>, TransportError> {
        let object = Object::Stream(spec.name);
        let before = info.config.clone();
        let chosen = plan.choose(&object.name(), &before, differences(settings, &before));
        let after = match chosen.is_empty() {
            true => info.config,
            false => self.mend_stream(spec, info, chosen).await?,
        };
        Ok(drift(object, settings, &before, &after))
    }

    async fn assert_consumer(
        &self,
        spec: &ConsumerSpec,
        plan: Plan<'_>,
    ) -> Result<Vec<Drift>, TransportError> {
        let settings = &wanted::consumer(spec)?;
        let object = Object::Consumer(&spec.reference);
        let known = self.consumer_info(Operation::Assert, &spec.reference).await?;
        let before = match known {
            Some(info) => info.config,
            None if !plan.creates() => return Ok(Vec::new()),
            None => {
                let mut config = whole(settings);
                config.insert("name".to_owned(), spec.reference.consumer.as_str().into());
                match self.create(object, &config).await? {
                    Ok(made) => return Ok(drift(object, settings, &made, &made)),
                    Err(refused) if refused.is_taken() => {
                        let info = self.consumer_info(Operation::Assert, &spec.reference).await?;
                        info.ok_or_else(|| assert_error(object, &refused))?.config
                    }
                    Err(refused) => return Err(assert_error(object, &refused)),
                }
            }
        };
        let chosen = plan.choose(&object.name(), &before, differences(settings, &before));
        let after = match chosen.is_empty() {
            true => before.clone(),
            false => self.mend_consumer(&spec.reference, settings, before.clone(), chosen).await?,
        };
        Ok(drift(object, settings, &before, &after))
    }
}

pub(super) fn assert_error(object: Object<'_>, refused: &ApiError) -> TransportError {
    api_error(Operation::Assert, &object.name(), refused)
}

/// The configuration that has every setting.
fn whole(settings: &[Setting]) -> Config {
    let mut config = Config::new();
    for setting in settings {
        setting.put(&mut config);
    }
    config
}

fn differences<'a>(settings: &'a [Setting], config: &Config) -> Vec<&'a Setting> {
    settings.iter().filter(|setting| !setting.holds(config)).collect()
}

/// Every difference that there was, and whether it is still there. What was changed is logged too: an
/// error later in the same assertion would take the place of the answer.
fn drift(object: Object<'_>, settings: &[Setting], before: &Config, after: &Config) -> Vec<Drift> {
    let name = object.name();
    let different = differences(settings, before).into_iter();
    let drift: Vec<_> = different.map(|setting| setting.drift(&name, before, after)).collect();
    for Drift { object, field, expected, found, .. } in drift.iter().filter(|drift| drift.mended) {
        tracing::info!(%object, field, %expected, %found, "put right on the server");
    }
    drift
}
