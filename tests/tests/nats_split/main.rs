//! The whole mesh on a real nats-server in the split layout.
#![expect(unreachable_pub, reason = "a test")]

#[path = "../support/split/mod.rs"]
mod split;

#[tokio::test]
async fn starts() {
    let t = std::time::Instant::now();
    let bed = split::Bed::split().await.unwrap();
    eprintln!("{:?}", t.elapsed());
    let c = bed.connect("svc.n1").await.unwrap();
    eprintln!("{:?}", t.elapsed());
    drop(c);
    let mut raw = bed.raw("evil.n1").await.unwrap();
    raw.publish("mesh.events.svc.made", None, &[], b"x").await.unwrap();
    eprintln!("{:?}", raw.settle().await.unwrap());
    eprintln!("{:?}", t.elapsed());
}
