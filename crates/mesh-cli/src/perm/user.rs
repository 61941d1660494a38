//! Users by the names that they log in with.

use mesh_control::compose::User;
use mesh_core::text::Printable;

use super::files::Read;
use crate::shell::Failure;

/// The user of that name. Nobody can say what one may do that is not composed.
pub(super) fn find<'r>(read: &'r Read, name: &str) -> Result<&'r User, Failure> {
    if let Some(user) = read.mesh.user(name) {
        return Ok(user);
    }
    let what = format!("no user {}", Printable(name));
    let module = name.split('.').next().unwrap_or_default();
    let mut refused = read.mesh.refused().iter();
    if let Some(refused) = refused.find(|refused| refused.module.as_deref() == Some(module)) {
        let why: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
        let what =
            format!("{what}, since the manifest of {module} is refused:\n{}", why.join("\n"));
        return Err(Failure::new(what, "mend it: `mesh check` shows it in its place"));
    }
    let distance = |user: &&User| strsim::damerau_levenshtein(user.name(), name);
    let near = read.mesh.users().iter().min_by_key(distance);
    let near = near.filter(|user| distance(user) <= 1 + name.len() / 6);
    // Somebody who says half of it, or the halves as a credential's file has them.
    let halves = |user: &&User| {
        user.name().split_once('.').is_some_and(|(kind, rest)| {
            kind == name || rest == name || name.split_once('.') == Some((rest, kind))
        })
    };
    let near = read.mesh.users().iter().find(halves).or(near);
    let hint = match near {
        Some(user) => format!("did you mean {}?", user.name()),
        None => {
            "users are called <module>.<node>, host.<node>, builder.<node>, person.<name>, controller and \
             controller-edge"
                .to_owned()
        }
    };
    Err(Failure::new(what, hint).at(read.files.file.file()))
}
