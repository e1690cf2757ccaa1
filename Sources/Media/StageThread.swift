import Glibc

/// A named operating-system thread that runs one function and can be joined. Stages run on these threads because they
/// block in C libraries, which a task of Swift's cooperative pool must not do.
public final class StageThread: Sendable {
    private let handle: pthread_t

    /// Starts the thread.
    /// - Parameters:
    ///   - name: shown by `ps -L` and debuggers; at most 15 bytes are kept.
    ///   - niceness: how far the thread gives way to others: 0 as they do, up to 19. The kernel may refuse it, which is no error.
    public init(name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
        final class Start {
            let name: String
            let niceness: Int32
            let body: @Sendable () -> Void
            init(name: String, niceness: Int32, body: @escaping @Sendable () -> Void) {
                self.name = name
                self.niceness = niceness
                self.body = body
            }
        }
        let start = unsafe Unmanaged.passRetained(Start(name: name, niceness: niceness, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                nameThisThread(start.name)
                // On Linux, 0 stands for the calling thread alone.
                if start.niceness != 0 { setpriority(Int32(PRIO_PROCESS.rawValue), 0, start.niceness) }
                start.body()
                return nil
            }, start.toOpaque())
        precondition(code == 0, "cannot start thread \(name): error \(code)")
        handle = thread
    }

    /// What this thread has had of processors. Call it before the thread is joined.
    public var processorTime: Nanoseconds {
        var clock = clockid_t()
        guard unsafe pthread_getcpuclockid(handle, &clock) == 0 else { return .zero }
        return Self.time(of: clock)
    }

    /// The same of the thread that asks.
    public static var ownProcessorTime: Nanoseconds { time(of: CLOCK_THREAD_CPUTIME_ID) }

    private static func time(of clock: clockid_t) -> Nanoseconds {
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0 else { return .zero }
        return Nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Waits until the function has returned. Call exactly once, or else ``detach()``.
    public func join() { pthread_join(handle, nil) }

    /// Lets the thread end by itself. Call it instead of ``join()``.
    public func detach() { pthread_detach(handle) }
}

/// glibc's `pthread_setname_np`. Swift does not see its declaration, which needs `_GNU_SOURCE`; and a worker in its sandbox cannot
/// write the name to /proc instead.
private let setName = unsafe dlsym(nil, "pthread_setname_np").map {
    unsafe unsafeBitCast($0, to: (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32).self)
}

private func nameThisThread(_ name: String) {
    _ = unsafe setName?(pthread_self(), String(name.prefix(15)))
}
