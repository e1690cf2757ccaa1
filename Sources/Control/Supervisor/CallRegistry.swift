import WorkerProtocol

/// The WebRTC calls that workers have been asked to answer, or have answered. A call ends with its worker's process.
struct CallRegistry {
    struct Call: Hashable, Sendable {
        var stream: String
        var worker: Int
        var side: CallSide
        var userFragment: String
        var restarts = 0
        /// What the worker knows it by.
        var number: UInt64 = 0
        /// The worker has answered.
        var isAnswered = false
        /// What a viewer says of its picture.
        var freezes: Int?
        /// The guest of a room whose call it is; nil outside of rooms.
        var seat: Seat?
    }

    /// How many calls one stream may have, whoever they are from.
    static let mostOfStream = 256

    private var calls: [String: Call] = [:]

    var count: Int { calls.count }

    func count(of stream: String) -> Int { calls.values.count { $0.stream == stream } }

    /// The call, once it has been answered.
    subscript(id: String) -> Call? { calls[id].flatMap { $0.isAnswered ? $0 : nil } }

    /// Takes the place of a call that is to be answered.
    /// - Returns: its id, which nobody can guess.
    mutating func begin(_ call: Call) -> String {
        var random = SystemRandomNumberGenerator()
        let id = Self.id(random.next(), random.next())
        calls[id] = call
        return id
    }

    /// The number that the worker is told.
    mutating func number(_ id: String, _ number: UInt64) { calls[id]?.number = number }

    /// - Returns: false when the call has ended meanwhile.
    mutating func answer(_ id: String) -> Bool {
        guard calls[id] != nil else { return false }
        calls[id]?.isAnswered = true
        return true
    }

    /// The worker has begun the call's ICE session anew, or has said again what it said to the same name.
    /// - Returns: the call; nil when it has ended meanwhile.
    mutating func restart(_ id: String, userFragment: String) -> Call? {
        guard var call = calls[id] else { return nil }
        if call.userFragment != userFragment { call.restarts += 1 }
        call.userFragment = userFragment
        calls[id] = call
        return call
    }

    mutating func keep(freezes: Int, of id: String) { calls[id]?.freezes = freezes }

    /// What the viewers of a stream have said, by the numbers that the worker knows them by.
    func freezes(of stream: String) -> [UInt64: Int] {
        var known: [UInt64: Int] = [:]
        for call in calls.values where call.stream == stream { known[call.number] = call.freezes }
        return known
    }

    @discardableResult mutating func end(_ id: String) -> Call? { calls.removeValue(forKey: id) }

    /// A worker says that a call is over. Only calls of its own are.
    mutating func end(number: UInt64, worker: Int) {
        for (id, call) in calls where call.number == number && call.worker == worker { calls[id] = nil }
    }

    /// A guest has left.
    /// - Returns: the calls that ended with it.
    mutating func endAll(of seat: Seat) -> [Call] {
        let ended = calls.filter { $0.value.seat == seat }
        for id in ended.keys { calls[id] = nil }
        return Array(ended.values)
    }

    mutating func endAll(of worker: Int) { calls = calls.filter { $0.value.worker != worker } }
    /// A worker says that a stream has ended in it.
    mutating func endAll(of stream: String, worker: Int) {
        calls = calls.filter { $0.value.stream != stream || $0.value.worker != worker }
    }

    static func id(_ high: UInt64, _ low: UInt64) -> String {
        [high, low].map { part in
            let digits = String(part, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
