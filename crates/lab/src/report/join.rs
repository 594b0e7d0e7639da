//! Several runs as one document: workloads that were measured one after another.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::report::compare::{Kernel, Unlike, differences};
use crate::results::{Results, Row};

/// The beginning of the remark of a joined document, which lists its runs.
pub(super) const RUNS: &str = "measured in several runs: ";

/// The reason why documents cannot become one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotJoined {
    /// There is no document.
    #[error("there is no document to join")]
    Nothing,
    /// Figures of two of them cannot stand beside each other.
    #[error("{0}")]
    Unlike(Unlike),
    /// Two of them have the same row.
    #[error("{0} is in two documents; leave one of them out")]
    Twice(String),
}

/// Joins documents of like environments, in the given order; some of them may have been joined before.
/// A remark says when each run began.
///
/// # Errors
/// [`NotJoined`] if their environments differ in more than time, load, the version of wigwag and, where
/// any is allowed, the kernel, or if two of them have the same row.
pub fn join(documents: Vec<Results>, kernel: Kernel) -> Result<Results, NotJoined> {
    let mut documents = documents.into_iter();
    let mut joined = documents.next().ok_or(NotJoined::Nothing)?;
    let mut runs = take_runs(&mut joined);
    let first = joined.clone();
    let mut places: BTreeSet<String> = joined.rows.iter().map(Row::place).collect();
    for mut document in documents {
        let begun = take_runs(&mut document);
        let differences = kernel.refused(differences(&first, &document));
        if !differences.is_empty() {
            return Err(NotJoined::Unlike(Unlike { differences }));
        }
        runs.extend(begun);
        let (all, added) = (&mut joined.environment, document.environment);
        list(&mut all.wigwag, &added.wigwag);
        list(&mut all.kernel, &added.kernel);
        joined.interrupted |= document.interrupted;
        let shares = [joined.coordinator_cpu_share, document.coordinator_cpu_share];
        joined.coordinator_cpu_share = shares.into_iter().flatten().reduce(f64::max);
        for row in document.rows {
            let place = row.place();
            if !places.insert(place.clone()) {
                return Err(NotJoined::Twice(place));
            }
            joined.rows.push(row);
        }
    }
    if runs.len() > 1 {
        joined.environment.remarks.push(format!("{RUNS}{}", runs.join("; ")));
    }
    Ok(joined)
}

/// Adds the values in `others` that are not in `all`; both are lists with commas.
fn list(all: &mut String, others: &str) {
    for another in others.split(", ") {
        if !all.split(", ").any(|one| one == another) {
            *all += &format!(", {another}");
        }
    }
}

/// Takes the list of its runs out of a document that was joined; of another one, the run itself.
fn take_runs(document: &mut Results) -> Vec<String> {
    let remarks = &mut document.environment.remarks;
    let listed = remarks.iter().position(|remark| remark.starts_with(RUNS));
    match listed.map(|at| remarks.remove(at)) {
        Some(remark) => remark[RUNS.len()..].split("; ").map(str::to_owned).collect(),
        None => vec![began(document)],
    }
}

/// The workloads of a run and when it began.
fn began(document: &Results) -> String {
    let mut workloads: Vec<&str> = document.rows.iter().map(|row| row.workload.as_str()).collect();
    workloads.dedup();
    format!("{} from {}", workloads.join(", "), document.environment.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(workload: &str) -> Results {
        let text = include_str!("../../tests/fixtures/lab-1.json");
        let mut results: Results = serde_json::from_str(text).unwrap();
        results.rows.retain(|row| row.workload == workload);
        results
    }

    #[test]
    fn rows_stand_in_the_given_order_and_a_remark_says_when_each_run_began() {
        let (counter, mut remote) = (with("counter"), with("remote"));
        remote.environment.started = "2026-12-24T18:00:00Z".to_owned();
        remote.environment.wigwag = "0.2.0".to_owned();
        remote.interrupted = true;
        remote.coordinator_cpu_share = Some(0.5);
        let joined = join(vec![counter.clone(), remote.clone()], Kernel::Same).unwrap();
        assert_eq!(joined.rows.len(), counter.rows.len() + remote.rows.len());
        assert_eq!(joined.rows[0].place(), counter.rows[0].place());
        let last = joined.environment.remarks.last().unwrap();
        assert!(
            last.contains("counter from ") && last.contains("remote from 2026-12-24"),
            "{last}"
        );
        let versions = &joined.environment.wigwag;
        assert!(versions.starts_with(&counter.environment.wigwag), "{versions}");
        assert!(versions.ends_with(", 0.2.0"), "{versions}");
        assert_eq!((joined.interrupted, joined.coordinator_cpu_share), (true, Some(0.5)));
    }

    #[test]
    fn one_document_stays_as_it_is() {
        let as_value = |results: &Results| serde_json::to_value(results).unwrap();
        let one = with("counter");
        let joined = join(vec![one.clone(), with("remote")], Kernel::Same).unwrap();
        for document in [one, joined] {
            let again = join(vec![document.clone()], Kernel::Same).unwrap();
            assert_eq!(as_value(&again), as_value(&document));
        }
    }

    #[test]
    fn a_joined_document_is_joined_with_another_one() {
        let all = || ["counter", "remote", "http"].map(with);
        assert!(all().iter().all(|document| !document.rows.is_empty()));
        let at_once = join(all().to_vec(), Kernel::Same).unwrap();
        let [counter, remote, http] = all();
        let two = join(vec![counter, remote], Kernel::Same).unwrap();
        let one_by_one = join(vec![two, http], Kernel::Same).unwrap();
        assert_eq!(one_by_one.environment.remarks, at_once.environment.remarks);
        assert_eq!(one_by_one.rows.len(), at_once.rows.len());
    }

    #[test]
    fn kernels_are_listed_where_they_may_differ() {
        let [counter, mut remote, mut http] = ["counter", "remote", "http"].map(with);
        let first = counter.environment.kernel.clone();
        remote.environment.kernel = "Linux 9.9-2".to_owned();
        http.environment.kernel = "Linux 9.9-2".to_owned();
        let refused = join(vec![counter.clone(), remote.clone()], Kernel::Same).unwrap_err();
        assert!(refused.to_string().contains("→ Linux 9.9-2"), "{refused}");
        let joined = join(vec![counter, remote, http], Kernel::Any).unwrap();
        assert_eq!(joined.environment.kernel, format!("{first}, Linux 9.9-2"));
    }

    #[test]
    fn unlike_machines_and_rows_that_are_there_twice_are_refused() {
        assert_eq!(join(Vec::new(), Kernel::Same).unwrap_err(), NotJoined::Nothing);
        let (one, mut other) = (with("counter"), with("remote"));
        other.environment.cores = 64;
        let unlike = join(vec![one.clone(), other], Kernel::Same).unwrap_err();
        assert!(unlike.to_string().contains("cores: 2 → 64"), "{unlike}");
        let twice = join(vec![one.clone(), with("remote"), one.clone()], Kernel::Same).unwrap_err();
        assert_eq!(twice, NotJoined::Twice(one.rows[0].place()));
    }
}
