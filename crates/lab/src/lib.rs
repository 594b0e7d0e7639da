//! The lab: workloads, physical limits, verification, report.
