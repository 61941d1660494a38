//! A credential counts once the server runs with it.

use std::fs;

use mesh_control::folder::{BusFolder, Digest, Outcome, ReloadReport};
use mesh_control::secrets::State;
use mesh_core::time::Timestamp;
use serde_json::Value;

use super::{Bed, operator};

#[test]
fn a_credential_is_not_handed_over_before_the_server_runs_with_it() {
    let mut bed = Bed::new("not-live", "");
    let bus = BusFolder::at(bed.path("bus"));
    // As a supervisor holds it.
    let lock = fs::File::create(bed.path("bus/.supervisor.lock")).unwrap();
    lock.try_lock().unwrap();
    assert!(bus.is_supervised().unwrap());
    let told = bed.refused(&operator("issue ada --plain --out ada.json --wait 1"));
    assert!(told.contains("nothing was said of the new file within 1 s"), "{told}");
    assert!(!bed.path("ada.json").exists());
    assert_eq!(bed.state("person.ada"), Some(State::Minted));

    let refuse = |bus: &BusFolder, before: &Digest| {
        let file = loop {
            let file = bus.read().unwrap().map(Digest::of);
            match file.filter(|file| file != before) {
                Some(file) => break file,
                None => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        let mut report = ReloadReport::new(Timestamp::UNIX_EPOCH, Outcome::Refused, Some(file));
        report.error = Some("nats-server.conf:7: not today".to_owned());
        bus.tell(&report).unwrap();
    };
    let before = Digest::of(bed.composed());
    let supervisor = std::thread::spawn(move || refuse(&bus, &before));
    let told = bed.refused(&operator("issue ada --plain --out ada.json"));
    supervisor.join().unwrap();
    assert!(told.contains("refused") && told.contains("nats-server.conf:7: not today"), "{told}");
    assert!(!bed.path("ada.json").exists());

    let json =
        bed.good(&format!("--json {}", operator("issue ada --plain --out ada.json --no-wait")));
    let issued: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(issued["reached"], "not-waited");
    drop(lock);
    let json = bed.good(&format!("--json {}", operator("revoke ada")));
    let revoked: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&revoked["reached"], &revoked["changed"]), (&"no-bus".into(), &true.into()));
}
