//! Surveys of groups.

use std::collections::BTreeSet;
use std::time::Duration;

use wigwag::groups::Groups;
use wigwag::sp::{SocketErrorKind, Surveyor};

use super::*;

/// The answers to a survey, until its time is over or there are `most`.
async fn survey(surveyor: &Surveyor, request: &str, most: usize) -> BTreeSet<String> {
    surveyor.send(request.to_owned()).await.unwrap();
    let mut answers = BTreeSet::new();
    while answers.len() < most {
        match in_time(PATIENCE, async { surveyor.recv().await }).await {
            Ok(answer) => answers.insert(String::from_utf8(answer.to_vec()).unwrap()),
            Err(error) => {
                assert!(matches!(error.kind, SocketErrorKind::SurveyOver), "{error}");
                break;
            }
        };
    }
    answers
}

async fn surveyor_at(address: &Address) -> Surveyor {
    let surveyor = Surveyor::new();
    surveyor.set_survey_time(Some(PATIENCE));
    in_time(PATIENCE, async { surveyor.dial(&address.to_string()).await }).await.unwrap();
    surveyor
}

fn numbered(number: u64) -> DeskRef {
    Desk { number, ..Desk::default() }.spawn()
}

#[tokio::test]
async fn each_member_of_a_group_answers_a_survey() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let groups = Groups::<Desk>::new();
    let members: Vec<_> = (0..5).map(numbered).collect();
    groups.join_all("all", &members).unwrap();
    groups.join("others", &numbered(9)).unwrap();
    node.export_group("desks", &groups, "all").unwrap();
    let surveyor = surveyor_at(&bound).await;
    let expected: BTreeSet<_> = (0..5).map(|number| format!("[\"ok\",{number}]")).collect();
    assert_eq!(survey(&surveyor, r#"["desks","number"]"#, 5).await, expected);

    assert!(groups.leave("all", &members[0]));
    let expected: BTreeSet<_> = (1..5).map(|number| format!("[\"ok\",{number}]")).collect();
    assert_eq!(survey(&surveyor, r#"["desks","number"]"#, 4).await, expected);
    // An actor that is exported alone answers too, and an error is an answer.
    assert_eq!(survey(&surveyor, r#"["desk","add",1,2]"#, 1).await, ["[\"ok\",3]".into()].into());
    let errors = survey(&surveyor, r#"["desks","nothing"]"#, 1).await;
    assert!(errors.first().unwrap().contains("NoSuchMethod"), "{errors:?}");
    let errors = survey(&surveyor, "what?", 1).await;
    assert!(errors.first().unwrap().contains("Protocol"), "{errors:?}");

    let refused = node.export_group("desks", &groups, "others").unwrap_err();
    assert!(refused.to_string().contains("a group is exported under this name"), "{refused}");
    assert!(node.withdraw_group("desks") && !node.withdraw_group("desks"));
}

/// A survey goes to many nodes: one that has no such group says nothing.
#[tokio::test]
async fn a_node_without_the_group_and_one_with_an_empty_group_are_silent() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let groups = Groups::<Desk>::new();
    node.export_group("empty", &groups, "all").unwrap();
    let surveyor = surveyor_at(&bound).await;
    surveyor.set_survey_time(Some(Duration::from_millis(100)));
    for request in [r#"["empty","number"]"#, r#"["nobody","number"]"#] {
        assert_eq!(survey(&surveyor, request, 1).await, BTreeSet::new(), "{request}");
    }
    until(async || node.sp_client_statistics().requests == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_survey_asks_at_most_1024_members() {
    let most = wigwag::limits::SURVEY_MEMBERS_MAX;
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let groups = Groups::<Desk>::new();
    let members: Vec<_> = (0..most as u64 + 10).map(numbered).collect();
    groups.join_all("all", &members).unwrap();
    node.export_group("desks", &groups, "all").unwrap();
    let surveyor = surveyor_at(&bound).await;
    assert_eq!(survey(&surveyor, r#"["desks","number"]"#, most).await.len(), most);
    surveyor.set_survey_time(Some(Duration::from_millis(300)));
    assert_eq!(survey(&surveyor, r#"["desks","number"]"#, most + 1).await.len(), most);
}
