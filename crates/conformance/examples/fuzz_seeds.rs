//! Writes the seeds of a fuzz target as files into a folder, where libFuzzer looks for them.

use std::{env, fs, io};

use wigwag_conformance::fuzz::TARGETS;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let (Some(name), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("give the target's name and a folder"));
    };
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| io::Error::other("no target of that name"))?;
    fs::create_dir_all(&folder)?;
    for (number, seed) in (target.seeds)().into_iter().enumerate() {
        fs::write(format!("{folder}/seed-{number}"), seed)?;
    }
    Ok(())
}
