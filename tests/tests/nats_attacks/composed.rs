//! Attacks by whoever writes a manifest, or is named in the mesh file: no account is composed of them.

use mesh_control::compose::{Composition, More, Source};
use serde_json::json;

use crate::attack::{Attack, Outcome, Verdict, attack};
use crate::split::{Mode, Setup, Started, composed};

pub const ATTACKS: &[Attack] = &[
    attack!(name_a_wildcard, by "who writes a manifest",
        "has a module, an event, a tool or a call with a wildcard in its name"),
    attack!(name_a_second_token, by "who writes a manifest",
        "has one with a dot, a space, a line break or a quotation mark in it"),
    attack!(take_a_reserved_name, by "who writes a manifest",
        "calls its module like a part of the mesh, or its tool like one that the controller alone calls"),
    attack!(take_anothers_name, by "who writes a manifest",
        "calls its module like another, which is there"),
    attack!(declare_a_call_of_a_grant, by "who writes a manifest, or the mesh file's list of a person",
        "lists a provider's grant or withdrawal among what is called"),
];

/// Composes the mesh with a manifest that has these four put in. Refused, it is told by which field, and
/// everybody else has an account as if it were not there.
fn compose(mode: Mode, [name, emits, calls, tool]: [&str; 4]) -> Started<Option<Vec<String>>> {
    let text = format!(
        "name = {}\nversion = '1'\nemits = [{}]\ncalls = [{}]\n\
         tools = [{{ name = {}, description = 'Does as it is told.' }}]\n",
        json!(name),
        json!(emits),
        json!(calls),
        json!(tool)
    );
    let composed = composed(&Setup::of(mode), &[("sly.toml", &text)])?;
    for other in ["svc.n1", "evil.n1", "host.n1", "person.alice", "enrol.t1", "controller"] {
        composed.user(other).ok_or_else(|| format!("{other} has no account"))?;
    }
    let of_sly = composed.users().iter().any(|user| user.name() == "sly.n1");
    match (of_sly, composed.refused()) {
        (true, []) => Ok(None),
        (false, [refused]) if refused.file == "sly.toml" => {
            Ok(Some(refused.problems.iter().map(|problem| problem.field.to_string()).collect()))
        }
        (_, refused) => Err(format!("{refused:?}").into()),
    }
}

/// Each of these is refused, by that field's name.
fn refused(
    field: &str,
    compose: impl Fn(&str) -> Started<Option<Vec<String>>>,
    sly: &[&str],
) -> Verdict {
    for name in sly {
        match compose(name)? {
            None => return Err(format!("{field} may be {name:?}").into()),
            Some(fields) if fields.iter().all(|found| found.starts_with(field)) => {}
            Some(fields) => return Err(format!("not {field}, but {fields:?}").into()),
        }
    }
    Ok(Outcome::NotComposed)
}

const PROPER: [&str; 4] = ["sly", "done", "svc.echo", "work"];

/// None of these is the name of anything.
fn nowhere(mode: Mode, names: &[&str]) -> Verdict {
    let [name, emits, calls, tool] = PROPER;
    if let Some(fields) = compose(mode, PROPER)? {
        return Err(format!("a proper manifest is refused: {fields:?}").into());
    }
    refused("name", |sly| compose(mode, [sly, emits, calls, tool]), names)?;
    refused("emits[0]", |sly| compose(mode, [name, sly, calls, tool]), names)?;
    refused("tools[0]", |sly| compose(mode, [name, emits, calls, sly]), names)?;
    refused("calls[0]", |sly| compose(mode, [name, emits, &format!("svc.{sly}"), tool]), names)?;
    refused("calls[0]", |sly| compose(mode, [name, emits, &format!("{sly}.echo"), tool]), names)
}

async fn name_a_wildcard(mode: Mode) -> Verdict {
    nowhere(mode, &["*", ">", "a*", "*a", "a>"])
}

async fn name_a_second_token(mode: Mode) -> Verdict {
    nowhere(mode, &["a b", "a\nb", "a\tb", "a\"b", "a..b", ".a", "a.", "", "a\u{a0}b"])
}

async fn take_a_reserved_name(mode: Mode) -> Verdict {
    let [name, emits, calls, tool] = PROPER;
    let parts =
        ["person", "enrol", "host", "builder", "controller", "dead", "ack", "echo", "replay"];
    refused("name", |sly| compose(mode, [sly, emits, calls, tool]), &parts)?;
    let tools = ["provision_grant", "provision_withdraw", "events"];
    refused("tools[0]", |sly| compose(mode, [name, emits, calls, sly]), &tools)
}

async fn take_anothers_name(mode: Mode) -> Verdict {
    let before = composed(&Setup::of(mode), &[])?;
    let text = "name = 'svc'\nversion = '1'\nemits = ['more']\ncalls = ['db.wipe']";
    let after = composed(&Setup::of(mode), &[("sly.toml", text)])?;
    let refused = after.refused().iter().any(|refused| refused.file == "sly.toml");
    let accounts = [&before, &after].map(|composed| {
        composed.users().iter().map(|user| (user.name(), user.permissions())).collect::<Vec<_>>()
    });
    Ok(if refused && accounts[0] == accounts[1] { Outcome::NotComposed } else { Outcome::Succeeds })
}

async fn declare_a_call_of_a_grant(mode: Mode) -> Verdict {
    let [name, emits, _, tool] = PROPER;
    let grants = ["svc.provision_grant", "svc.provision_withdraw"];
    refused("calls[0]", |sly| compose(mode, [name, emits, sly, tool]), &grants)?;
    for sly in grants {
        let text = format!("nodes = []\npeople = [{{ name = 'bob', tools = [{sly:?}] }}]");
        let mesh = Source { file: "mesh.toml", text: &text };
        match Composition::of(mesh, &[], &More::default()) {
            Err(problems) if problems[0].field.starts_with("people[0].tools[0]") => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(Outcome::NotComposed)
}
