//! Attacks by whoever writes a manifest, or is named in the mesh file: no account is composed of them.

use mesh_core::manifest::{MeshFile, ModuleManifest, Problems};

use crate::attack::{Attack, Outcome, Verdict, attack};
use crate::split::Mode;

pub const ATTACKS: &[Attack] = &[
    attack!(name_a_wildcard, by "who writes a manifest",
        "has a module, an event, a tool or a call with a wildcard in its name"),
    attack!(name_a_second_token, by "who writes a manifest",
        "has one with a dot, a space, a line break or a quotation mark in it"),
    attack!(take_a_reserved_name, by "who writes a manifest",
        "calls its module like a part of the mesh, or its tool like one that the controller alone calls"),
    attack!(declare_a_call_of_a_grant, by "who writes a manifest, or the mesh file's list of a person",
        "lists a provider's grant or withdrawal among what is called"),
];

/// A module's manifest, with these four put in. The proper ones make one.
fn manifest(name: &str, emits: &str, calls: &str, tool: &str) -> Result<(), Problems> {
    let text = format!(
        "name = {name:?}\nversion = '1'\nemits = [{emits:?}]\ncalls = [{calls:?}]\n\
         tools = [{{ name = {tool:?}, description = 'Does as it is told.' }}]\n"
    );
    ModuleManifest::parse("sly.toml", &text).map(drop)
}

/// Each of these is refused, by that field's name.
fn refused(field: &str, manifest: impl Fn(&str) -> Result<(), Problems>, sly: &[&str]) -> Verdict {
    for name in sly {
        match manifest(name) {
            Ok(()) => return Err(format!("{field} may be {name:?}").into()),
            Err(problems) if problems.iter().all(|problem| problem.field.starts_with(field)) => {}
            Err(problems) => return Err(format!("another problem: {problems}").into()),
        }
    }
    Ok(Outcome::NotComposed)
}

const PROPER: [&str; 4] = ["sly", "done", "svc.echo", "work"];

/// None of these is the name of anything.
fn nowhere(names: &[&str]) -> Verdict {
    let [name, emits, calls, tool] = PROPER;
    manifest(name, emits, calls, tool).map_err(|problems| problems.to_string())?;
    refused("name", |sly| manifest(sly, emits, calls, tool), names)?;
    refused("emits[0]", |sly| manifest(name, sly, calls, tool), names)?;
    refused("tools[0]", |sly| manifest(name, emits, calls, sly), names)?;
    refused("calls[0]", |sly| manifest(name, emits, &format!("svc.{sly}"), tool), names)?;
    refused("calls[0]", |sly| manifest(name, emits, &format!("{sly}.echo"), tool), names)
}

async fn name_a_wildcard(_: Mode) -> Verdict {
    nowhere(&["*", ">", "a*", "*a", "a>"])
}

async fn name_a_second_token(_: Mode) -> Verdict {
    nowhere(&["a b", "a\nb", "a\tb", "a\"b", "a..b", ".a", "a.", "", "a\u{a0}b"])
}

async fn take_a_reserved_name(_: Mode) -> Verdict {
    let [name, emits, calls, tool] = PROPER;
    let parts = ["person", "enrol", "host", "builder", "controller", "dead", "ack", "echo", "replay"];
    refused("name", |sly| manifest(sly, emits, calls, tool), &parts)?;
    let tools = ["provision_grant", "provision_withdraw", "events"];
    refused("tools[0]", |sly| manifest(name, emits, calls, sly), &tools)
}

async fn declare_a_call_of_a_grant(_: Mode) -> Verdict {
    let [name, emits, _, tool] = PROPER;
    let grants = ["svc.provision_grant", "svc.provision_withdraw"];
    refused("calls[0]", |sly| manifest(name, emits, sly, tool), &grants)?;
    let listed = |sly: &str| {
        let text = format!("nodes = [{{ name = 'n1' }}]\npeople = [{{ name = 'bob', tools = [{sly:?}] }}]");
        MeshFile::parse("mesh.toml", &text).map(drop)
    };
    listed("svc.echo").map_err(|problems| problems.to_string())?;
    refused("people[0].tools[0]", listed, &grants)
}
