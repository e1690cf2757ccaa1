import Glibc

/// A queue of fixed capacity between two threads of the frame path. It never drops an element: a full queue makes the
/// producer wait (``push(_:)``) or refuses the element (``offer(_:)``), and the caller decides what to do then.
/// Elements may be non-copyable. Never allocates after `init`.
///
/// Thread-safe for any number of producers and consumers. `@unchecked Sendable` is safe because `mutex` guards all
/// fields that change.
@safe public final class BoundedQueue<Element: ~Copyable & Sendable>: @unchecked Sendable {
    public let capacity: Int
    private let slots: UnsafeMutablePointer<Element>
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var head = 0
    private var filled = 0
    private var closed = false

    public init(capacity: Int) {
        precondition(capacity > 0, "a queue holds at least one element")
        self.capacity = capacity
        unsafe slots = .allocate(capacity: capacity)
        unsafe mutex = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(changed, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        while filled > 0 { _ = removeFirst() }
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
        unsafe slots.deallocate()
    }

    /// How many elements are in the queue now.
    public var count: Int { locked { filled } }

    /// Adds an element, waiting while the queue is full.
    /// - Returns: nil when it was added; the element itself when the queue is closed.
    public func push(_ element: consuming Element) -> Element? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while filled == capacity && !closed { unsafe pthread_cond_wait(changed, mutex) }
        return append(element)
    }

    /// Adds an element, waiting until `time` while the queue is full.
    /// - Returns: nil when it was added; the element itself when the time came first, or when the queue is closed.
    public func push(_ element: consuming Element, until time: MonotonicTime) -> Element? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while filled == capacity && !closed, waitForChange(until: time) {}
        return append(element)
    }

    /// Adds an element if there is room now.
    /// - Returns: nil when it was added; the element itself when the queue is full or closed.
    public func offer(_ element: consuming Element) -> Element? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return append(element)
    }

    /// Removes the oldest element, waiting for one until `time` (for ever when nil).
    /// - Returns: nil when the time came first, or when the queue is closed and empty.
    public func pop(until time: MonotonicTime? = nil) -> Element? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while filled == 0 && !closed {
            guard let time else {
                unsafe pthread_cond_wait(changed, mutex)
                continue
            }
            if !waitForChange(until: time) { break }
        }
        guard filled > 0 else { return nil }
        let element = removeFirst()
        unsafe pthread_cond_broadcast(changed)
        return element
    }

    /// The first result that `body` returns, asked about the elements from the oldest on. The queue is locked
    /// meanwhile.
    public func first<Result>(_ body: (borrowing Element) -> Result?) -> Result? {
        locked {
            for index in 0..<filled {
                if let result = body(unsafe slots[(head + index) % capacity]) { return result }
            }
            return nil
        }
    }

    /// Refuses further elements; those inside can still be popped. Wakes every waiting thread.
    public func close() {
        locked {
            closed = true
            unsafe pthread_cond_broadcast(changed)
        }
    }

    public var isClosed: Bool { locked { closed } }

    /// Waits with the lock held.
    /// - Returns: false when the time has come.
    private func waitForChange(until time: MonotonicTime) -> Bool {
        var limit = timespec(
            tv_sec: Int(time.nanoseconds / 1_000_000_000), tv_nsec: Int(time.nanoseconds % 1_000_000_000))
        return unsafe pthread_cond_timedwait(changed, mutex, &limit) != ETIMEDOUT
    }

    private func append(_ element: consuming Element) -> Element? {
        if filled == capacity || closed { return element }
        unsafe (slots + (head + filled) % capacity).initialize(to: element)
        filled += 1
        unsafe pthread_cond_broadcast(changed)
        return nil
    }

    private func removeFirst() -> Element {
        let element = unsafe (slots + head).move()
        head = (head + 1) % capacity
        filled -= 1
        return element
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
