//! That the bus is in its seat and nothing is routed to it.

use mesh_control::adoption::{Survey, routed, touched};

use super::Adopt;
use super::ground::Ground;
use super::told::{Phase, Told, shown};
use crate::shell::Failure;

pub(super) async fn run(asked: &Adopt, ground: &Ground) -> Result<Told, Failure> {
    let mut told = Told::of(Phase::Verify);
    let before = ground.before(asked)?;
    let survey = ground.survey().await?;
    if let Some(before) = &before {
        told.touched(&touched(before, &survey, &ground.ours));
    }
    digest(asked, before.as_ref(), &survey, &mut told);
    told.routed(&routed(&survey, &ground.ours));
    let (own, others) = ground.seats(&survey);
    for (account, by) in others {
        let message = format!("in the account {account} it is held by {}", shown(&by));
        told.against("seat-taken", message, "a seat has one holder: one of the two must leave");
    }
    match own {
        Some(by) => told.seated(&by),
        None => {
            let hint = "`mesh bus adopt` with the controller's credential takes it";
            told.against("no-seat", "nobody has taken the seat mesh-broker", hint);
        }
    }
    Ok(told)
}

/// Whether the server runs with the file that was meant.
pub(super) fn digest(asked: &Adopt, before: Option<&Survey>, now: &Survey, told: &mut Told) {
    let is = now.server.config_digest.as_deref().unwrap_or_default();
    let hint = "have the server read its file again; its log says why it does not";
    if let Some(wanted) = &asked.digest {
        let bare = |text: &str| text.trim_start_matches("sha256:").to_ascii_lowercase();
        if bare(wanted) != bare(is) {
            let message = format!("the server runs with the file of digest {is}, not {wanted}");
            told.against("digest", message, hint);
        }
    } else if before.is_some_and(|before| before.server.config_digest.as_deref() == Some(is)) {
        let message = "the server runs with the file that it had before".to_owned();
        told.against("digest", message, hint);
    }
}
