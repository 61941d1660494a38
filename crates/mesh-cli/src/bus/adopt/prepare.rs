//! What is in the way, and the accounts for somebody else's server.

use mesh_control::adoption::{AdoptionFolder, Wanted, beside, into};
use mesh_control::compose::ComposeError;

use super::Adopt;
use super::ground::{Ground, unfiled};
use super::told::{Phase, Told};
use crate::shell::Failure;

pub(super) async fn run(asked: &Adopt, ground: &Ground) -> Result<Told, Failure> {
    let mut told = Told::of(Phase::Prepare);
    let (mesh, dir) = (asked.mesh.display(), asked.dir.display());
    let Some(monitor) = asked.into else {
        told.unfit(&beside(ground.composition.bus(), &asked.dir));
        if told.good {
            told.then(format!("mesh bus run --dir {dir}"));
            told.then(format!("mesh bus genesis --mesh {mesh} --credential CONTROLLER"));
            told.then(format!("mesh bus adopt --mesh {mesh} --dir {dir} --credential CONTROLLER"));
        }
        return Ok(told);
    };
    let accounts = accounts(ground)?;
    let survey = ground.survey().await?;
    // Once they are in, the survey of before stays, and the accounts follow the mesh's files.
    let inside = ground.folder.remembered().map_err(|error| unfiled(&error))?.is_some()
        && ground.ours.accounts.iter().all(|account| survey.accounts.contains(account));
    if !inside {
        let topology = ground.composition.topology();
        let wanted = Wanted {
            ours: ground.ours.clone(),
            max_payload: ground.composition.bus().limits.max_payload.into(),
            storage: topology.streams().iter().map(|stream| stream.max_bytes).sum(),
        };
        told.unfit(&into(&survey, &wanted));
        if !told.good {
            return Ok(told);
        }
        ground.folder.remember(&survey).map_err(|error| unfiled(&error))?;
        told.wrote(ground.folder.survey_file().display());
    }
    ground.folder.write(&accounts).map_err(|error| unfiled(&error))?;
    told.wrote(ground.folder.accounts_file().display());
    if !inside {
        told.then(format!(
            "the server's owner adds this line within `accounts {{ … }}` of the server's file in {dir}: {}",
            AdoptionFolder::line()
        ));
    }
    told.then("the owner checks that file: `nats-server -t -c FILE` says its digest".to_owned());
    told.then(
        "the owner has the server read it again: `nats-server --signal reload=PID`".to_owned(),
    );
    told.then(format!(
        "mesh bus adopt --mesh {mesh} --dir {dir} --into {monitor} --credential CONTROLLER --digest DIGEST"
    ));
    Ok(told)
}

fn accounts(ground: &Ground) -> Result<String, Failure> {
    let Some(store) = &ground.store else {
        let what = "the accounts need what proves their secrets";
        return Err(Failure::new(what, "name the store: --store DIR"));
    };
    ground.composition.nats_accounts(store).map_err(|error| {
        let hint = match error {
            ComposeError::NoVerifier(_) => "`mesh perm compose` mints what is missing",
            _ => "`mesh check` with the mesh file shows what is wrong in it",
        };
        Failure::new(error.to_string(), hint)
    })
}
