use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use mesh_core::manifest::MAX_FILE_BYTES;
use mesh_federation::discovery::Egress;
use mesh_federation::router::Routes;
use serde::Serialize;
use toml::Spanned;

use super::{Config, Discovery, Mailbox, Problem, RequiredOf, Security};
use crate::shell::style::ERROR;
use crate::shell::{Answer, Failure, input};

/// A gateway's file that is in order.
#[derive(Debug, Clone)]
pub(crate) struct GatewayFile {
    pub(crate) config: Config,
    /// What it was when it was read, to know a change by.
    pub(crate) bytes: Vec<u8>,
    folder: PathBuf,
}

/// What is wrong in one.
#[derive(Debug, Serialize)]
pub(crate) struct Mistakes {
    good: bool,
    file: String,
    problems: Vec<Problem>,
    #[serde(skip)]
    text: String,
}

/// Reads a gateway's file.
///
/// # Errors
/// A failure where it can't be read, its mistakes where it can.
pub(crate) fn read(path: &Path) -> Result<Result<GatewayFile, Mistakes>, Failure> {
    let bytes = input::bytes(path, MAX_FILE_BYTES)?;
    let name = input::name(path);
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Failure::new("not UTF-8", "save it as UTF-8").at(name));
    };
    Ok(match parse(&text) {
        Ok(config) => Ok(GatewayFile {
            config,
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            bytes: text.into_bytes(),
        }),
        Err(problems) => Err(Mistakes { good: false, file: name, problems, text }),
    })
}

impl GatewayFile {
    /// A file that is named in it.
    pub(crate) fn path(&self, named: &Path) -> PathBuf {
        self.folder.join(named)
    }
}

/// What a gateway's file says.
///
/// # Errors
/// Its mistakes: the first of its shape, or else all of what it says.
pub(super) fn parse(text: &str) -> Result<Config, Vec<Problem>> {
    match toml::from_str::<Config>(text) {
        Ok(config) => match sense(&config, text) {
            problems if problems.is_empty() => Ok(config),
            problems => Err(problems),
        },
        Err(error) => Err(vec![shape(&error, text)]),
    }
}

fn shape(error: &toml::de::Error, text: &str) -> Problem {
    let message = error.message();
    let span = error.span().unwrap_or(0..0);
    let (code, hint) = if let Some((unknown, known)) = unknown(message) {
        let near = known.iter().map(|known| (strsim::jaro_winkler(unknown, known), *known));
        let nearest = near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = match nearest {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => format!("known here are {}", known.join(", ")),
        };
        ("unknown-key", hint)
    } else if message.starts_with("missing field") {
        ("missing-key", "write it; docs/schema/gateway.schema.json says what each is".to_owned())
    } else if message.starts_with("invalid type") || message.starts_with("expected ") {
        ("wrong-type", "write what is expected there".to_owned())
    } else if message.contains("duplicate key") {
        ("duplicate", "leave one of the two".to_owned())
    } else if toml::from_str::<toml::Table>(text).is_err() {
        ("not-toml", "see that brackets and quotes are closed".to_owned())
    } else {
        ("bad-value", "docs/schema/gateway.schema.json says what may stand there".to_owned())
    };
    Problem::new(text, span, code, message, hint)
}

/// An unknown key, and those that are known.
pub(super) fn unknown(message: &str) -> Option<(&str, Vec<&str>)> {
    let (_, rest) =
        message.split_once("unknown field `").or(message.split_once("unknown variant `"))?;
    let (unknown, rest) = rest.split_once('`')?;
    Some((unknown, rest.split('`').skip(1).step_by(2).collect()))
}

/// What makes no sense, although each value does.
fn sense(config: &Config, text: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut wrong = |span, code, message: String, hint: &str| {
        found.push(Problem::new(text, span, code, message, hint));
    };
    let kinds: BTreeSet<Mailbox> = config.mailboxes.get_ref().iter().copied().collect();
    if ![Mailbox::Legacy, Mailbox::Mx].iter().all(|kind| kinds.contains(kind)) {
        let hint = "list both; a policy can refuse what comes by one of them";
        let message = "a gateway listens to `legacy` and to `mx`".to_owned();
        wrong(config.mailboxes.span(), "mailboxes", message, hint);
    }
    let allowed = config.peers.values().filter_map(|peer| peer.allow.as_ref()).flatten();
    for prefix in config.policy.deny.iter().chain(allowed) {
        if !prefix.get_ref().bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("no path begins with {:?}", prefix.get_ref());
            let hint = "the beginning of a path, such as \"admin\" or \"mail.accepts.send\"";
            wrong(prefix.span(), "bad-path", message, hint);
        }
    }
    if let Some(router) = &config.router {
        let mut routes = Routes::new(config.realm.clone());
        if let Some(parent) = &router.parent
            && let Err(error) = routes.set_parent(Some(parent.get_ref().clone()))
        {
            wrong(parent.span(), "bad-route", error.to_string(), "name the realm right above");
        }
        for child in &router.children {
            if let Err(error) = routes.add_child(child.get_ref().clone()) {
                wrong(child.span(), "bad-route", error.to_string(), "name realms right below");
            }
        }
    }
    if let Some(key) = config.security.as_ref().and_then(|security| security.key.as_ref())
        && config.security.as_ref().is_some_and(|security| security.kid.is_none())
    {
        let hint = "`mesh federation keygen` has printed it with the public key";
        wrong(key.span(), "missing-key", "a key needs its `kid`".to_owned(), hint);
    }
    if let Some(security) = &config.security
        && !has_keys(config, security)
    {
        let span = security.required.as_ref().map_or(0..0, Spanned::span);
        let message = "nobody can prove itself who has to: no keys are known".to_owned();
        let hint =
            "give peers their `jwks`, let `discovery` find keys, or say `required = \"none\"`";
        wrong(span, "no-keys", message, hint);
    }
    if let Some(discovery) = &config.discovery {
        let endpoint = discovery.serve.as_ref().and_then(|serve| serve.endpoint.as_ref());
        let all = |security: &Security| security.required() == RequiredOf::All;
        if let Some(endpoint) = endpoint
            && !config.security.as_ref().is_some_and(all)
        {
            let message = "whoever posts here may say any realm's name".to_owned();
            let hint = "let all prove themselves: `security.required = \"all\"`";
            wrong(endpoint.span(), "unproven", message, hint);
        }
        for network in &discovery.networks {
            if let Err(error) = Egress::public().allow_network(network.get_ref()) {
                let hint = "an address, or a network such as \"10.1.0.0/16\"";
                wrong(network.span(), "bad-network", error.to_string(), hint);
            }
        }
    }
    for document in config.peers.values().filter_map(|peer| peer.document.as_ref()) {
        if let Err(error) = egress(config.discovery.as_ref()).check(document.get_ref()) {
            let hint = "an https URL; `discovery.networks`, `hosts` and `ports` allow more places";
            wrong(document.span(), "bad-url", error.to_string(), hint);
        }
    }
    found
}

/// Whether there is a way to the keys of those that have to prove themselves: of one of all, or of each.
fn has_keys(config: &Config, security: &Security) -> bool {
    if config.discovery.as_ref().is_some_and(|discovery| discovery.read.unwrap_or(true)) {
        return true;
    }
    let has = |realm| config.peers.get(realm).is_some_and(|peer| peer.jwks.is_some());
    match security.required() {
        RequiredOf::None => true,
        RequiredOf::All => config.peers.keys().any(has),
        RequiredOf::Realms(realms) => realms.iter().all(has),
    }
}

/// What may be connected to. A network that is none is told of otherwise.
pub(crate) fn egress(discovery: Option<&Discovery>) -> Egress {
    let Some(discovery) = discovery else { return Egress::public() };
    let mut egress = Egress::public();
    for network in discovery.networks.iter().map(Spanned::get_ref) {
        egress = egress.clone().allow_network(network).unwrap_or(egress);
    }
    let egress = discovery.hosts.iter().fold(egress, |egress, host| egress.allow_host(host));
    discovery.ports.iter().fold(egress, |egress, port| egress.allow_port(*port))
}

impl Answer for Mistakes {
    const SCHEMA: &'static str = "mesh.federation.config/1";
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{}\n", problem.shown(&self.file, &self.text))?;
        }
        let count = match self.problems.len() {
            1 => "1 mistake".to_owned(),
            several => format!("{several} mistakes"),
        };
        writeln!(f, "{ERROR}not good{ERROR:#}: {count}")
    }
}
