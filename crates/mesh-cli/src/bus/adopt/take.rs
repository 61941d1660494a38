//! The seat taken, once.

use mesh_control::adoption::{Claim, routed, touched};
use mesh_core::name::SeatName;
use mesh_core::store::StoreError;
use mesh_transport_nats::{NatsOptions, NatsSeats, Source, Taken};
use std::time::Duration;

use super::Adopt;
use super::ground::Ground;
use super::told::{Phase, Told, shown};
use super::verify;
use crate::shell::Failure;

/// How long the connection may take to end: nothing is under way on it.
const ENDING: Duration = Duration::from_secs(5);

pub(super) async fn run(asked: &Adopt, ground: &Ground) -> Result<Told, Failure> {
    let Some(credential) = &asked.credential else {
        let what = "only the controller can take the seat, and no credential is named";
        return Err(Failure::new(what, "name the controller's: --credential FILE"));
    };
    let mut told = Told::of(Phase::Take);
    let before = ground.before(asked)?;
    let survey = ground.survey().await?;
    if let Some(before) = &before {
        told.touched(&touched(before, &survey, &ground.ours));
    }
    verify::digest(asked, before.as_ref(), &survey, &mut told);
    told.routed(&routed(&survey, &ground.ours));
    let (own, others) = ground.seats(&survey);
    for (account, by) in others {
        let message = format!("in the account {account} it is held by {}", shown(&by));
        told.against("seat-taken", message, "raise a server of this mesh's own");
    }
    if let Some(by) = own {
        taken(&mut told, &by);
    }
    if !told.good {
        return Ok(told);
    }
    let mesh = ground.composition.bus().name.as_str();
    let claim = Claim::of_broker(mesh, &ground.holder, ground.now);
    let text =
        claim.text().map_err(|error| Failure::new(error.to_string(), "shorten the names in it"))?;
    let seats = NatsSeats::connect(Source::file(credential), NatsOptions::default()).await;
    let seats = seats.map_err(|error| {
        let hint = "name the controller's own credential, for the server that was looked at";
        Failure::new(error.to_string(), hint).at(credential.display())
    })?;
    let outcome = seats.take(&SeatName::broker(), &text).await;
    // Nothing of it is left to be sent.
    let _ = seats.close(ENDING).await;
    match outcome.map_err(|error| untaken(&error))? {
        Taken::Now => {
            told.seated(&text);
            let (mesh, dir) = (asked.mesh.display(), asked.dir.display());
            let into = asked.into.map(|into| format!(" --into {into}")).unwrap_or_default();
            told.then(format!("mesh bus adopt --verify --mesh {mesh} --dir {dir}{into}"));
        }
        // Somebody was a moment earlier.
        Taken::Before(by) => taken(&mut told, &by),
    }
    Ok(told)
}

fn taken(told: &mut Told, by: &str) {
    told.seated(by);
    let message = format!("the seat is claimed once, and is held by {}", shown(by));
    told.against("seat-taken", message, "`mesh bus adopt --verify` says how the bus is");
}

fn untaken(error: &StoreError) -> Failure {
    let hint = "`mesh bus adopt --verify` says whether it was taken all the same";
    Failure::new(format!("the seat could not be taken: {error}"), hint)
}
