#[wigwag::main]
async fn main(arguments: Vec<String>) {
    let _ = arguments;
}
