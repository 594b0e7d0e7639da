#[wigwag::main(flavor = "single", threads = 2)]
async fn main() {}

#[wigwag::main(threads = 2)]
async fn second() {}

#[wigwag::main(worker_threads = 0)]
async fn third() {}

#[wigwag::main(flavor = "current_thread", worker_threads = 2)]
async fn fourth() {}
