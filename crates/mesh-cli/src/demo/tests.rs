use super::*;

async fn story(broken: Option<FlowName>) -> (bool, String) {
    let mut out = Vec::new();
    let good = run(None, broken, &mut out).await.unwrap();
    (good, String::from_utf8(out).unwrap())
}

#[tokio::test]
async fn the_example_comes_out_as_computed() {
    let (good, story) = story(None).await;
    assert!(good, "{story}");
    insta::assert_snapshot!(story);
}

#[tokio::test]
async fn a_broken_flow_is_named_and_no_other() {
    // Side by side: a flow that came out otherwise has waited for what did not come.
    let stories = FlowName::ALL.map(|name| (name, tokio::spawn(story(Some(name)))));
    for (name, running) in stories {
        let (good, story) = running.await.unwrap();
        assert!(!good, "{name:?} was broken and not noticed:\n{story}");
        let last = story.lines().last().unwrap();
        assert_eq!(last, format!("Came out otherwise: {}.", name.word()), "{story}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_and_read_no_further_than_its_limit() {
    let refused = async |file: &str| {
        let error = run(Some(file.as_ref()), None, &mut Vec::new()).await.unwrap_err();
        error.to_string()
    };
    let folder = refused("src").await;
    assert!(folder.contains("src: "), "{folder}");
    #[cfg(unix)]
    {
        let endless = refused("/dev/zero").await;
        assert!(endless.contains("/dev/zero: more than 1048576 bytes long"), "{endless}");
    }
}
