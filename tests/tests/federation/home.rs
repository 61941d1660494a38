//! A realm of ours: a gateway at work, and a host for its components.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_core::mx::MxPath;
use mesh_core::name::RealmName;
use mesh_federation::edge::{EdgeConfig, EdgeGateway, EdgeRules, GatewayOptions};
use mesh_federation::{
    AnswerLimits, Answers, Call, Direct, Handler, RealmClient, RealmOptions, Registration,
    ResolvedClient,
};

use crate::ground::Realm;
use crate::peer::PATIENCE;

pub(crate) struct Home {
    pub(crate) gateway: EdgeGateway,
    pub(crate) client: RealmClient,
    components: Vec<Registration>,
}

/// What a realm of ours has of its own; the rest is as the protocol says.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) rules: EdgeRules,
    pub(crate) gateway: GatewayOptions,
    pub(crate) client: RealmOptions,
    pub(crate) direct: Option<Arc<dyn Direct>>,
}

impl Home {
    /// Starts a realm with what the protocol says.
    pub(crate) async fn start(realm: &Realm) -> Self {
        Self::with(realm, Setup::default()).await
    }

    /// The same with these rules.
    pub(crate) async fn ruled(realm: &Realm, rules: EdgeRules) -> Self {
        Self::with(realm, Setup { rules, ..Setup::default() }).await
    }

    /// The same with all this.
    pub(crate) async fn with(realm: &Realm, setup: Setup) -> Self {
        let mut config = EdgeConfig::new(realm.name.clone());
        config.rules = setup.rules;
        let answers = Answers::new(AnswerLimits::default());
        let options = GatewayOptions { answers: Some(answers.clone()), ..setup.gateway };
        let (between, inside) = (realm.between.clone(), realm.gateway.clone());
        let gateway = EdgeGateway::start(config, between.clone(), inside, options).await.unwrap();
        let mut outside = ResolvedClient::new(between);
        if let Some(direct) = setup.direct {
            outside = outside.with_direct(direct);
        }
        let (name, app) = (realm.name.clone(), realm.app.clone());
        let client = RealmClient::new(name, outside, app, answers, setup.client).await.unwrap();
        Self { gateway, client, components: Vec::new() }
    }

    /// A component from now on.
    pub(crate) async fn accepts(&mut self, path: &str, handler: impl Handler) {
        let accepted = self.client.accept(self::path(path), handler).await;
        self.components.push(accepted.unwrap());
    }

    /// The same that answers what it is given.
    pub(crate) async fn echoes(&mut self, path: &str) {
        self.accepts(path, |call: Call| async move { Ok(call.params) }).await;
    }

    /// How many messages a guard has refused.
    pub(crate) fn refused(&self, guard: &str) -> u64 {
        self.gateway.guards().of(guard).map_or(0, |counters| counters.refused)
    }

    /// Returns once a guard has refused so many.
    pub(crate) async fn has_refused(&self, guard: &str, count: u64) {
        until(guard, || async { self.refused(guard) >= count }).await;
        assert_eq!(self.refused(guard), count, "{guard}");
    }

    /// Returns once so many requests wait for a component.
    pub(crate) async fn pends(&self, count: usize) {
        until("requests that wait", || async { self.gateway.status().pending == count }).await;
    }

    /// Ends it: everything that was begun is at its end, and nothing is left behind.
    pub(crate) async fn close(self) {
        self.client.close(PATIENCE).await;
        let report = self.gateway.close(PATIENCE).await;
        assert_eq!((report.given_up, report.abandoned), (0, 0));
        let status = self.gateway.status();
        assert_eq!((status.pending, status.under_way, status.waiting), (0, 0, 0));
        assert_eq!(self.client.answers().counts().pending, 0);
    }
}

pub(crate) fn path(text: &str) -> MxPath<'static> {
    text.parse().unwrap()
}

pub(crate) fn realm(text: &str) -> RealmName {
    text.parse().unwrap()
}

/// Looks until it is so, or fails the test.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut is: impl FnMut() -> F) {
    let due = Instant::now() + PATIENCE;
    while !is().await {
        assert!(Instant::now() < due, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
