//! Message passing that costs what the machine charges, loses nothing, and is as plain as a method call.
