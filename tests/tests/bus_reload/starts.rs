//! From a folder to a server: what is started with, and what is not.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_control::conf::Conf;
use mesh_control::folder::{Awaited, BusFolder, Outcome};
use mesh_control::supervisor::{Ending, Order, StartError, Supervisor, judge};

use crate::bed::{Bed, Site};
use crate::people::{layout, with};

const INTERVAL: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_bus_that_is_started_with_a_bad_file_serves_with_the_one_that_ran_last() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    bed.orders.send(Order::End).await.unwrap();
    let layout = bed.layout.clone();
    let (ended, site) = bed.ended().await;
    assert!(ended.asked && !ended.killed);
    site.folder.write(&format!("{}publsh: 3\n", site.text(&layout))).unwrap();
    let mut bed = site.start(layout, INTERVAL).await.map_err(|(_, error)| error).unwrap();
    let report = bed.report(|report| report.pid.is_some()).await;
    assert_eq!(report.outcome, Outcome::Refused);
    assert!(report.error.unwrap().contains("publsh"));
    bed.admitted("tool.n1").await;
    let next = with(&bed.layout, "late");
    bed.write(next);
    bed.admitted("late").await;
}

#[tokio::test]
async fn without_a_file_that_ran_before_a_bad_one_and_a_missing_one_start_nothing() {
    let site = Site::new();
    let (site, error) = site.start(layout(), INTERVAL).await.err().unwrap();
    assert!(matches!(error, StartError::Missing(_)), "{error}");
    site.folder.write("server_name: a\n").unwrap();
    let (site, error) = site.start(layout(), INTERVAL).await.err().unwrap();
    assert!(matches!(&error, StartError::Refused(told) if told.contains("no accounts")), "{error}");
    assert!(!site.folder.is_supervised().unwrap());
}

#[tokio::test]
async fn a_folder_has_one_supervisor_and_a_port_one_server() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    let settings = bed.site.settings(INTERVAL);
    let clock = Arc::new(SystemClock::new());
    let again = Supervisor::start(settings.clone(), clock.clone(), drop);
    let error = again.await.unwrap_err();
    assert!(matches!(error, StartError::Supervised(_)), "{error}");

    let other = BusFolder::at(bed.site.place.path().join("other"));
    other.write(&bed.site.text(&bed.layout)).unwrap();
    let mut settings = settings;
    settings.folder = other;
    let again = Supervisor::start(settings, clock, drop);
    let error = again.await.unwrap_err();
    assert!(matches!(&error, StartError::Occupied { name, .. } if name == "bus"), "{error}");
}

/// Its lie was told as `live` until the server had ended, which could not listen there: who is handed a credential
/// then has one that no server knows.
#[tokio::test]
async fn who_answers_in_place_of_the_server_that_it_runs_with_the_file_is_not_believed() {
    let site = Site::new();
    let text = site.text(&layout());
    site.folder.write(&text).unwrap();
    let digest = Conf::read(&text).unwrap().digest();
    let monitor = judge(&Conf::read(&text).unwrap()).monitor.unwrap();
    let impostor = TcpListener::bind(monitor).unwrap();
    std::thread::spawn(move || {
        // Nobody is there when the supervisor looks whether the port is taken.
        for (number, client) in impostor.incoming().enumerate() {
            let (Ok(mut client), mut asked) = (client, [0; 4096]) else { return };
            let _ = client.read(&mut asked);
            let status = if number == 0 { "500 No" } else { "200 OK" };
            let varz = format!(
                r#"{{"server_id":"NX","server_name":"bus","version":"2.15.1","start":"","uptime":"",
                "config_load_time":"{number}","config_digest":"{digest}","connections":0}}"#
            );
            let _ = write!(
                client,
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{varz}",
                varz.len()
            );
        }
    });
    let (site, error) = site.start(layout(), INTERVAL).await.err().unwrap();
    assert!(matches!(&error, StartError::Server(told) if told.contains("ended")), "{error}");
    assert_eq!(site.folder.report().unwrap(), None);
}

#[tokio::test]
async fn a_server_that_dies_ends_its_supervisor_and_that_is_said() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    let pid = bed.report(|_| true).await.pid.unwrap();
    kill(pid);
    let report = bed.report(|report| report.outcome == Outcome::Ended).await;
    assert_eq!((report.pid, report.digest), (None, None));
    let folder = bed.site.folder.clone();
    let (ended, _place) = bed.ended().await;
    assert_eq!((ended.how, ended.asked), (Ending::Signal(9), false));
    assert_eq!(ended.how.code(), 137);
    let file = folder.write("server_name: x\n").unwrap().digest;
    assert_eq!(folder.wait(file, Duration::ZERO).unwrap(), Awaited::Unsupervised);
}

/// JetStream has stopped by then, and TERM does nothing any more: only what is under way goes on.
#[tokio::test]
async fn a_lame_duck_lets_its_clients_stay_takes_no_new_ones_and_ends_at_once_when_told_again() {
    let bed = Bed::raise(layout(), INTERVAL).await;
    let mut stays = bed.admitted("tool.n1").await;
    bed.orders.send(Order::LameDuck).await.unwrap();
    while !bed.log().contains("Entering lame duck mode") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // At once: after ten seconds the server begins to send its clients away.
    assert!(stays.settle().await.unwrap().errors.is_empty());
    bed.raw("caller.n1").await.unwrap_err();
    bed.orders.send(Order::End).await.unwrap();
    let (ended, _place) = bed.ended().await;
    assert_eq!((ended.how, ended.asked, ended.killed), (Ending::Code(0), true, false));
}

fn kill(pid: u32) {
    let status = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}
