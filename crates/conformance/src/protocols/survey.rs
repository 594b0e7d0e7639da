//! The promises of surveyor and respondent together.

use std::time::Duration;

use wigwag_net::Address;
use wigwag_net::socket::{Respondent, SocketErrorKind, Surveyor};

use crate::{TestEnv, eventually};

async fn surveying(env: &TestEnv) -> (Surveyor, Address) {
    let surveyor = Surveyor::new();
    // Long, because only one test waits for the end, and it sets a time of its own.
    surveyor.set_survey_time(Some(Duration::from_secs(30)));
    let address = surveyor.listen(&env.address()).await.expect("listens");
    (surveyor, address.into())
}

async fn responding(surveyor: &Surveyor, address: &Address) -> Respondent {
    let known = surveyor.statistics().pipes_open;
    let respondent = Respondent::new();
    respondent.dial(&address.to_string()).await.expect("dials");
    eventually(|| surveyor.statistics().pipes_open > known).await;
    respondent
}

/// All respondents are asked, and each answer arrives.
pub async fn all_respondents_are_asked_and_answer(env: &TestEnv) {
    let (surveyor, address) = surveying(env).await;
    let mut respondents = Vec::new();
    for _ in 0..5 {
        respondents.push(responding(&surveyor, &address).await);
    }
    for survey in 0..3_u8 {
        surveyor.send(vec![survey]).await.expect("sent");
        for (number, respondent) in (10_u8..).zip(&respondents) {
            assert_eq!(respondent.recv().await.expect("a survey"), vec![survey]);
            respondent.send(vec![survey, number]).await.expect("sent");
        }
        let mut heard = Vec::new();
        for _ in &respondents {
            let answer = surveyor.recv().await.expect("an answer");
            assert_eq!(answer[0], survey);
            heard.push(answer[1]);
        }
        heard.sort_unstable();
        assert_eq!(heard, [10, 11, 12, 13, 14]);
    }
}

/// The end of the survey's time ends a recv that waits, once; answers after it are late.
pub async fn a_survey_ends_with_its_time(env: &TestEnv) {
    let (surveyor, address) = surveying(env).await;
    let respondent = responding(&surveyor, &address).await;
    let nothing = surveyor.recv().await.expect_err("nothing was asked");
    assert!(matches!(nothing.kind, SocketErrorKind::NothingSurveyed), "{nothing}");
    surveyor.set_survey_time(Some(Duration::from_millis(20)));
    surveyor.send("who?").await.expect("sent");
    let over = surveyor.recv().await.expect_err("nobody answers");
    assert!(matches!(over.kind, SocketErrorKind::SurveyOver), "{over}");
    let nothing = surveyor.recv().await.expect_err("it was told");
    assert!(matches!(nothing.kind, SocketErrorKind::NothingSurveyed), "{nothing}");
    assert_eq!(respondent.recv().await.expect("a survey"), "who?");
    respondent.send("I").await.expect("sent");
    eventually(|| surveyor.statistics().counters.dropped_late == 1).await;
}

/// A new survey ends the old one: answers to the old one are dropped, and only new ones arrive.
pub async fn a_new_survey_ends_the_old_one(env: &TestEnv) {
    let (surveyor, address) = surveying(env).await;
    let respondent = responding(&surveyor, &address).await;
    surveyor.send("first").await.expect("sent");
    assert_eq!(respondent.recv().await.expect("a survey"), "first");
    surveyor.send("second").await.expect("sent");
    respondent.send("to the first").await.expect("sent");
    assert_eq!(respondent.recv().await.expect("a survey"), "second");
    respondent.send("to the second").await.expect("sent");
    assert_eq!(surveyor.recv().await.expect("an answer"), "to the second");
    assert_eq!(surveyor.statistics().counters.dropped_late, 1);
}

/// An answer needs a survey, and the next survey may be taken without answering.
pub async fn an_answer_needs_a_survey(env: &TestEnv) {
    let (surveyor, address) = surveying(env).await;
    let respondent = responding(&surveyor, &address).await;
    let unasked = respondent.send("I").await.expect_err("nobody asked");
    assert!(matches!(unasked.error.kind, SocketErrorKind::NoRequest));
    surveyor.send("who?").await.expect("sent");
    surveyor.send("and who?").await.expect("sent");
    respondent.recv().await.expect("the first survey");
    respondent.recv().await.expect("the second survey");
    respondent.send("I").await.expect("sent");
    assert_eq!(surveyor.recv().await.expect("an answer"), "I");
    assert_eq!(respondent.statistics().counters.dropped_abandoned, 1);
}
