//! A Python worker for the engine's tests, which start it as the command line starts itself.

#[global_allocator]
static ALLOCATOR: stave_pyworker::LimitedAllocator = stave_pyworker::LimitedAllocator;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(stave_pyworker::main_loop(std::io::stdin(), std::io::stdout())?)
}
