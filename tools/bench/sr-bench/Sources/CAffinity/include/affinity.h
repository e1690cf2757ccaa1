#pragma once

/// Lets the calling thread, and the threads that it makes, run on this core alone.
/// - Returns: 0, or -1 where that is not allowed.
int pin_to_core(int core);
