//! Puts right in place what the server can change without losing anything.

use mesh_core::port::TransportError;
use mesh_core::topology::{ConsumerRef, DeliverySubject, Retention, StreamName, StreamSpec};

use super::Admin;
use super::ask::{Object, StreamInfo};
use super::assert::assert_error;
use super::setting::{Config, Setting};
use super::wanted::{
    DELIVER_GROUP, DELIVER_SUBJECT, DISCARD, DURABLE_NAME, INACTIVE_THRESHOLD, MAX_BYTES,
    MAX_PER_SUBJECT,
};
use crate::api::Api;

impl<A: Api> Admin<A> {
    /// The configuration of a stream once it is mended as far as it can be.
    ///
    /// A log whose subjects have more messages than they should keeps its limit and them: the server
    /// would drop the oldest, whatever it is told to discard.
    pub(super) async fn mend_stream(
        &self,
        spec: &StreamSpec,
        info: StreamInfo,
        different: Vec<&Setting>,
    ) -> Result<Config, TransportError> {
        let mut harmless = Vec::new();
        for setting in different {
            let drops = setting.key() == MAX_PER_SUBJECT
                && spec.retention != Retention::NewestPerSubject
                && self.has_more_of_a_subject(spec.name, setting, &info).await?;
            if !drops {
                harmless.push(setting);
            }
        }
        self.mend(Object::Stream(spec.name), info.config, harmless).await
    }

    /// Whether a subject has more messages than the limit that is wanted. What is appended between this
    /// question and the update is not seen.
    async fn has_more_of_a_subject(
        &self,
        stream: StreamName,
        wanted: &Setting,
        info: &StreamInfo,
    ) -> Result<bool, TransportError> {
        let limit = wanted.wanted_limit();
        if !wanted.lowers(&info.config) || info.state.messages <= limit {
            return Ok(false);
        }
        let mut offset = 0;
        loop {
            let page = self.stream_subjects(stream, offset).await?;
            let subjects = page.state.subjects.unwrap_or_default();
            if subjects.values().any(|&count| count > limit) {
                return Ok(true);
            }
            offset += subjects.len() as u64;
            if subjects.is_empty() || offset >= page.total {
                return Ok(false);
            }
        }
    }

    /// The configuration of a consumer once it is mended as far as it can be. Its position stays.
    ///
    /// A group that is changed alone, or together with the delivery subject, is accepted, and the
    /// consumer then delivers to nobody: the server learns who listens in the new group only when the
    /// subject changes after that. So the subject moves away with the group and comes back. It can't
    /// while somebody reads, and then the group stays too.
    ///
    /// An ephemeral consumer can't become durable. Without its threshold the server would take its own,
    /// and delete the consumer after seconds.
    pub(super) async fn mend_consumer(
        &self,
        consumer: &ConsumerRef,
        settings: &[Setting],
        mut config: Config,
        mut different: Vec<&Setting>,
    ) -> Result<Config, TransportError> {
        let object = Object::Consumer(consumer);
        let durable = settings.iter().find(|setting| setting.key() == DURABLE_NAME);
        if durable.is_some_and(|durable| !durable.holds(&config)) {
            take(&mut different, DURABLE_NAME);
            take(&mut different, INACTIVE_THRESHOLD);
        }
        let home = settings.iter().find(|setting| setting.key() == DELIVER_SUBJECT);
        if let Some(group) = take(&mut different, DELIVER_GROUP)
            && let Some(home) = home
        {
            let elsewhere = DeliverySubject::of(consumer.clone()).to_subject();
            let mut away = config.clone();
            group.put(&mut away);
            away.insert(DELIVER_SUBJECT.to_owned(), format!("{elsewhere}.away").into());
            match self.update(object, &away).await? {
                Ok(moved) => {
                    config = moved;
                    take(&mut different, DELIVER_SUBJECT);
                    different.insert(0, home);
                }
                Err(refused) if refused.is_final() => {}
                Err(refused) => return Err(assert_error(object, &refused)),
            }
        }
        self.mend(object, config, different).await
    }

    /// Asks for everything at once, and where that is refused, for one setting after the other, as long
    /// as one of them is taken: some need others first.
    async fn mend(
        &self,
        object: Object<'_>,
        mut config: Config,
        mut left: Vec<&Setting>,
    ) -> Result<Config, TransportError> {
        left.retain(|setting| !setting.is_fixed());
        if left.is_empty() {
            return Ok(config);
        }
        if let Some(mended) = self.put(object, &config, &left).await? {
            return Ok(mended);
        }
        // One alone was just refused; each of several may be taken, or once another was.
        let mut tried = 1;
        while left.len() != tried {
            tried = left.len();
            let mut refused = Vec::new();
            for setting in left {
                match self.put(object, &config, &[setting]).await? {
                    Some(mended) => config = mended,
                    None => refused.push(setting),
                }
            }
            left = refused;
        }
        Ok(config)
    }

    /// `None` if the server refuses, or would lose something by it.
    async fn put(
        &self,
        object: Object<'_>,
        config: &Config,
        settings: &[&Setting],
    ) -> Result<Option<Config>, TransportError> {
        let mut wanted = config.clone();
        for setting in settings {
            setting.put(&mut wanted);
        }
        // A stream whose policy could not be mended, schedules forbid it, drops what is too much.
        let drops =
            matches!(object, Object::Stream(_)) && wanted.get(DISCARD) != Some(&"new".into());
        if drops && settings.iter().any(|s| s.key() == MAX_BYTES && s.lowers(config)) {
            return Ok(None);
        }
        match self.update(object, &wanted).await? {
            Ok(mended) => Ok(Some(mended)),
            Err(refused) if refused.is_final() => Ok(None),
            Err(refused) => Err(assert_error(object, &refused)),
        }
    }
}

/// Takes the setting of that key out.
fn take<'a>(settings: &mut Vec<&'a Setting>, key: &str) -> Option<&'a Setting> {
    let at = settings.iter().position(|setting| setting.key() == key)?;
    Some(settings.remove(at))
}
