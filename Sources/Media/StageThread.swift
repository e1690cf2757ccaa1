import Glibc

/// A named operating-system thread that runs one function and can be joined. Stages run on these threads because they
/// block in C libraries, which a task of Swift's cooperative pool must not do.
public final class StageThread: Sendable {
    private let handle: pthread_t

    /// Starts the thread.
    /// - Parameter name: shown by `ps -L` and debuggers; at most 15 bytes are kept.
    public init(name: String, _ body: @escaping @Sendable () -> Void) {
        final class Start {
            let name: String
            let body: @Sendable () -> Void
            init(name: String, body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                nameThisThread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        precondition(code == 0, "cannot start thread \(name): error \(code)")
        handle = thread
    }

    /// Waits until the function has returned. Call exactly once, or else ``detach()``.
    public func join() { pthread_join(handle, nil) }

    /// Lets the thread end by itself. Call it instead of ``join()``.
    public func detach() { pthread_detach(handle) }
}

/// Writes to the kernel's file, because Swift does not see glibc's `pthread_setname_np` (it needs `_GNU_SOURCE`).
private func nameThisThread(_ name: String) {
    let file = unsafe open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = unsafe Array(name.utf8.prefix(15)).withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    close(file)
}
