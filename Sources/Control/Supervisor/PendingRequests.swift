import Glibc
import Media
import WorkerProtocol

/// What somebody waits for a worker to answer. Every request is answered: by the worker, or with a fault when its time is
/// over or its worker has gone.
struct PendingRequests {
    typealias Waiter<Value: Sendable> = CheckedContinuation<Result<Value, ServiceFault>, Never>

    /// How long a worker may take.
    let timeout: Nanoseconds
    /// How many requests may wait, calls aside.
    static let most = 64
    /// How many calls may wait for one worker. Viewers make them, who must not use up what the others need.
    static let mostCallsOfWorker = 16

    init(timeout: Nanoseconds = .seconds(3)) { self.timeout = timeout }

    private struct Request<Value: Sendable> {
        var worker: Int
        var due: MonotonicTime
        var waiter: Waiter<Value>
    }

    private var pictures: [UInt64: Request<Int>] = [:]
    private var stills: [UInt64: Request<(byteCount: Int, frame: UInt64)>] = [:]
    private var callers: [UInt64: Request<[Caller]>] = [:]
    /// Lists of callers that have come in part.
    private var parts: [UInt64: [Caller]] = [:]
    private var changes: [UInt64: Request<Void>] = [:]
    private var calls: [UInt64: Request<String>] = [:]
    private var lastNumber: UInt64 = 0

    private var count: Int { pictures.count + stills.count + callers.count + changes.count }

    /// When ``expire(_:)`` is due.
    var due: MonotonicTime? {
        (pictures.values.map(\.due) + stills.values.map(\.due) + callers.values.map(\.due) + changes.values.map(\.due)
            + calls.values.map(\.due)).min()
    }

    /// - Returns: a number for the request; nil when too many wait, and then the waiter has been answered.
    mutating func addPicture(_ waiter: Waiter<Int>, worker: Int, now: MonotonicTime) -> UInt64? {
        guard hasRoom(waiter) else { return nil }
        pictures[lastNumber] = Request(worker: worker, due: now + timeout, waiter: waiter)
        return lastNumber
    }

    /// A number for a clip, whose beginning is waited for like a change.
    mutating func addClip(_ waiter: Waiter<Void>, worker: Int, now: MonotonicTime) -> UInt64? {
        addChange(waiter, worker: worker, now: now)
    }

    /// A still of the past may have to be decoded from a keyframe far before it.
    mutating func addStill(_ waiter: Waiter<(byteCount: Int, frame: UInt64)>, worker: Int, now: MonotonicTime) -> UInt64? {
        guard hasRoom(waiter) else { return nil }
        stills[lastNumber] = Request(worker: worker, due: now + timeout * 5, waiter: waiter)
        return lastNumber
    }

    mutating func addCallers(_ waiter: Waiter<[Caller]>, worker: Int, now: MonotonicTime) -> UInt64? {
        guard hasRoom(waiter) else { return nil }
        callers[lastNumber] = Request(worker: worker, due: now + timeout, waiter: waiter)
        return lastNumber
    }

    mutating func addChange(_ waiter: Waiter<Void>, worker: Int, now: MonotonicTime) -> UInt64? {
        guard hasRoom(waiter) else { return nil }
        changes[lastNumber] = Request(worker: worker, due: now + timeout, waiter: waiter)
        return lastNumber
    }

    mutating func addCall(_ waiter: Waiter<String>, worker: Int, now: MonotonicTime) -> UInt64? {
        guard calls.values.count(where: { $0.worker == worker }) < Self.mostCallsOfWorker else {
            waiter.resume(
                returning: .failure(
                    ServiceFault(
                        .unavailable, "\(Self.mostCallsOfWorker) other offers wait for the stream's worker: try again later")))
            return nil
        }
        lastNumber += 1
        calls[lastNumber] = Request(worker: worker, due: now + timeout, waiter: waiter)
        return lastNumber
    }

    private mutating func hasRoom<Value>(_ waiter: Waiter<Value>) -> Bool {
        guard count < Self.most else {
            waiter.resume(returning: .failure(ServiceFault(.unavailable, "\(Self.most) other requests wait: try again")))
            return false
        }
        lastNumber += 1
        return true
    }

    /// An answer counts only from the worker that was asked.
    mutating func answerPicture(_ number: UInt64, worker: Int, _ result: Result<Int, ServiceFault>) {
        guard pictures[number]?.worker == worker else { return }
        pictures.removeValue(forKey: number)?.waiter.resume(returning: result)
    }

    mutating func answerStill(
        _ number: UInt64, worker: Int, _ result: Result<(byteCount: Int, frame: UInt64), ServiceFault>
    ) {
        guard stills[number]?.worker == worker else { return }
        stills.removeValue(forKey: number)?.waiter.resume(returning: result)
    }

    mutating func answerCallers(_ number: UInt64, worker: Int, _ part: [Caller], isLast: Bool) {
        guard callers[number]?.worker == worker else { return }
        let list = Array(((parts[number] ?? []) + part.prefix(Caller.most)).prefix(Caller.mostOfStream))
        parts[number] = isLast ? nil : list
        if isLast { callers.removeValue(forKey: number)?.waiter.resume(returning: .success(list)) }
    }

    func isChangeAwaited(_ number: UInt64) -> Bool { changes[number] != nil }

    mutating func answerChange(_ number: UInt64, worker: Int, _ result: Result<Void, ServiceFault>) {
        guard changes[number]?.worker == worker else { return }
        changes.removeValue(forKey: number)?.waiter.resume(returning: result)
    }

    /// - Returns: false when nobody waits for it any more.
    mutating func answerCall(_ number: UInt64, worker: Int, _ result: Result<String, ServiceFault>) -> Bool {
        guard calls[number]?.worker == worker else { return false }
        calls.removeValue(forKey: number)?.waiter.resume(returning: result)
        return true
    }

    /// Answers the requests whose time is over.
    mutating func expire(_ now: MonotonicTime) {
        fail(ServiceFault(.unavailable, "the stream's worker did not answer within \(Int(timeout.seconds)) s: try again")) {
            $1 <= now
        }
    }

    /// Answers what a worker can no longer answer.
    mutating func failAll(of worker: Int, _ fault: ServiceFault) { fail(fault) { number, _ in number == worker } }
    mutating func failAll(_ fault: ServiceFault) { fail(fault) { _, _ in true } }

    private mutating func fail(_ fault: ServiceFault, where isMeant: (_ worker: Int, _ due: MonotonicTime) -> Bool) {
        for (number, request) in pictures where isMeant(request.worker, request.due) {
            pictures[number] = nil
            request.waiter.resume(returning: .failure(fault))
        }
        for (number, request) in stills where isMeant(request.worker, request.due) {
            stills[number] = nil
            request.waiter.resume(returning: .failure(fault))
        }
        for (number, request) in callers where isMeant(request.worker, request.due) {
            callers[number] = nil
            parts[number] = nil
            request.waiter.resume(returning: .failure(fault))
        }
        for (number, request) in calls where isMeant(request.worker, request.due) {
            calls[number] = nil
            request.waiter.resume(returning: .failure(fault))
        }
        for (number, request) in changes where isMeant(request.worker, request.due) {
            changes[number] = nil
            request.waiter.resume(returning: .failure(fault))
        }
    }
}
