//! An OpenAPI document of actors whose names, or those of their types, are alike.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

use std::collections::BTreeSet;

use serde_json::Value;
use wigwag::dynamic::Described;
use wigwag_describe::openapi::{Actor, document};

mod tea {
    #[derive(wigwag::Message)]
    pub(crate) struct Order {
        pub(crate) leaves: u8,
    }

    pub(crate) struct Shop;

    #[wigwag::actor]
    impl Shop {
        pub fn place(&self, order: Order) -> u8 {
            order.leaves
        }
    }
}

mod books {
    #[derive(wigwag::Message)]
    pub(crate) struct Order {
        pub(crate) title: String,
    }

    pub(crate) struct Shop;

    #[wigwag::actor]
    impl Shop {
        pub fn place(&self, order: Order) -> String {
            order.title
        }
    }
}

fn document_of(actors: &[(&str, Described)]) -> Value {
    let actors: Vec<Actor> = actors
        .iter()
        .map(|(name, described)| Actor {
            name: (*name).to_owned(),
            described: described.clone(),
            routes: Vec::new(),
        })
        .collect();
    serde_json::from_str(&document("Shops", None, &actors)).unwrap()
}

/// The names of the fields of the order that the actor takes.
fn fields_of_the_order(document: &Value, actor: &str) -> Vec<String> {
    let operation = &document["paths"][format!("/{actor}/ask/place")]["post"];
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let place = body["properties"]["order"]["$ref"].as_str().unwrap();
    let order = document.pointer(place.strip_prefix('#').unwrap()).unwrap();
    order["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn types_of_one_name_in_two_actors_of_one_name_are_two_schemas() {
    let document = document_of(&[
        ("books", Described::of::<books::Shop>()),
        ("more-tea", Described::of::<tea::Shop>()),
        ("tea", Described::of::<tea::Shop>()),
    ]);
    assert_eq!(fields_of_the_order(&document, "books"), ["title"]);
    assert_eq!(fields_of_the_order(&document, "tea"), ["leaves"]);
    assert_eq!(fields_of_the_order(&document, "more-tea"), ["leaves"]);
    let schemas: Vec<&String> =
        document["components"]["schemas"].as_object().unwrap().keys().collect();
    assert_eq!(schemas, ["Problem", "Shop-2.Order", "Shop.Order"]);
}

#[test]
fn each_operation_has_an_id_of_its_own() {
    let names = ["a b", "a?b", "a_b", "tä", "tö"];
    let actors = names.map(|name| (name, Described::of::<tea::Shop>()));
    let document = document_of(&actors);
    let operations = document["paths"].as_object().unwrap().values();
    let ids: Vec<&str> = operations
        .flat_map(|path| path.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2 * names.len());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}
