use super::*;
use crate::socket::kinds::raw;

#[test]
fn a_refused_pair_of_sockets_is_named_with_its_hint() {
    let refused = Forwarder::between(&raw::Req::new(), &raw::Pull::new()).err().unwrap();
    let text = format!("{refused:#}");
    for part in ["REQ", "PULL", "hint: join a socket with the partner"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    assert_eq!(refused.fault(), Fault::Caller);
}

#[test]
fn every_socket_joins_its_partner_and_nothing_else() {
    let ends = || -> Vec<End> {
        vec![
            (&raw::Pair0::new()).into(),
            (&raw::Pair::new()).into(),
            (&raw::PairMany::new()).into(),
            (&raw::Req::new()).into(),
            (&raw::Rep::new()).into(),
            (&raw::Pub::new()).into(),
            (&raw::Sub::new()).into(),
            (&raw::Push::new()).into(),
            (&raw::Pull::new()).into(),
            (&raw::Surveyor::new()).into(),
            (&raw::Respondent::new()).into(),
            (&raw::Bus::new()).into(),
            (&raw::Star::new()).into(),
        ]
    };
    let joined = ends().into_iter().map(|front| {
        let fits = |back: &End| Forwarder::between(front.clone(), back.clone()).is_ok();
        ends().iter().filter(|back| fits(back)).count()
    });
    // pair1 with one peer and with many are one protocol.
    assert_eq!(joined.collect::<Vec<_>>(), [1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let reflectors = ends().into_iter().filter(|end| Forwarder::reflecting(end.clone()).is_ok());
    assert_eq!(reflectors.count(), 3);
}

#[test]
fn one_socket_is_not_two() {
    let bus = raw::Bus::new();
    let same = Forwarder::between(&bus, &bus).err();
    assert_eq!(same, Some(ForwardError::SameSocket { of: ProtocolNumber::BUS }));
    let alone = Forwarder::reflecting(&raw::Pair::new()).err();
    assert_eq!(alone, Some(ForwardError::NoReflector { of: ProtocolNumber::PAIR1 }));
}
