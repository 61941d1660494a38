use std::time::Instant;

use futures_util::future::try_join_all;
use serde_json::Value;

use super::place::Site;
use super::server::{PATIENCE, pause};
use super::{NatsConfig, NatsServer};
use crate::servers::ServerError;

/// Three servers that keep streams together, so that one can be lost.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<NatsServer>,
}

impl Cluster {
    /// Starts three with JetStream, and returns when a stream with three replicas can be made.
    ///
    /// A composed file must name its server by [`Place::name`](super::Place::name), and have its
    /// cluster at [`Place::cluster`](super::Place::cluster) with routes to
    /// [`Place::routes`](super::Place::routes).
    ///
    /// # Errors
    /// As [`NatsServer::launch`].
    pub async fn of_three(config: NatsConfig) -> Result<Self, ServerError> {
        let config = config.jetstream();
        let mut sites =
            ["n1", "n2", "n3"].into_iter().map(Site::reserve).collect::<Result<Vec<_>, _>>()?;
        let routes: Vec<_> = sites.iter().map(Site::cluster).collect();
        for site in &mut sites {
            site.join(routes.clone());
        }
        let members = sites
            .into_iter()
            .map(|site| NatsServer::at(site, &config))
            .collect::<Result<Vec<_>, _>>()?;
        // None serves before it has met another.
        for member in &members {
            member.spawn()?;
        }
        try_join_all(members.iter().map(NatsServer::serves)).await?;
        let cluster = Self { members };
        cluster.complete().await?;
        Ok(cluster)
    }

    /// The three, by their names: n1, n2, n3.
    #[must_use]
    pub fn members(&self) -> &[NatsServer] {
        &self.members
    }

    /// The URLs of all three, for a client that may use any.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(NatsServer::url).collect()
    }

    /// Returns when all three run, and know each other to be up to date.
    ///
    /// # Errors
    /// [`ServerError::Failed`], if that takes over 30 s.
    pub async fn complete(&self) -> Result<(), ServerError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for member in &self.members {
                let jsz = member.jsz().await.unwrap_or_default();
                if is_whole(&jsz["meta_cluster"], self.members.len()) {
                    return Ok(());
                }
            }
            pause().await;
        }
        Err(self.failed("three that are up to date"))
    }

    /// The member that leads this stream now, whatever account it is in: a running one that says so
    /// itself, and knows a running one that leads the cluster. After the loss of a leader this waits
    /// for the next. Its first requests may get no answer all the same: a client tries again.
    ///
    /// # Errors
    /// [`ServerError::Failed`], if nobody leads it within 30 s.
    pub async fn leader_of(&self, stream: &str) -> Result<&NatsServer, ServerError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for member in &self.members {
                let jsz = member.jsz().await.unwrap_or_default();
                let leader = jsz["meta_cluster"]["leader"].as_str();
                if self.runs(leader) && leads(&jsz, stream, member.name()) {
                    return Ok(member);
                }
            }
            pause().await;
        }
        Err(self.failed(&format!("a leader of {stream}")))
    }

    /// Whether there is such a member, and it runs.
    fn runs(&self, name: Option<&str>) -> bool {
        let named = |member: &&NatsServer| Some(member.name()) == name;
        self.members.iter().find(named).is_some_and(|member| member.pid().is_some())
    }

    fn failed(&self, lacks: &str) -> ServerError {
        let logs =
            self.members.iter().map(|member| format!("{}:\n{}", member.name(), member.log()));
        ServerError::Failed {
            what: format!("the cluster has not {lacks} after {PATIENCE:?}"),
            log: logs.collect(),
        }
    }
}

/// Whether this is the leader's view of so many, and none lags or is away.
fn is_whole(meta: &Value, members: usize) -> bool {
    let others = meta["replicas"].as_array().map(Vec::as_slice).unwrap_or_default();
    meta["cluster_size"] == members
        && others.len() + 1 == members
        && others.iter().all(|other| other["current"] == true && other["offline"] != true)
}

fn leads(jsz: &Value, stream: &str, name: &str) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&jsz["account_details"])
        .iter()
        .flat_map(|account| list(&account["stream_detail"]))
        .any(|detail| detail["name"] == stream && detail["cluster"]["leader"] == name)
}
