import Media
import Synchronization

/// How many callers a second get as far as the passphrase, from one address and in all: checking one costs a millisecond of
/// the thread that receives the stream (PBKDF2 with 2048 rounds), and a megabyte until libsrt collects the socket.
///
/// A token bucket in the form of the generic cell rate algorithm (ITU-T I.371, annex A): a bucket is the time at which it will
/// be full again. A pure value.
struct CallerRate {
    struct Limit {
        var perSecond: Int64
        /// So many may come at once.
        var burst: Int64

        fileprivate var interval: Nanoseconds { Nanoseconds(1_000_000_000 / perSecond) }
    }

    /// A caller whose answer is lost calls every 250 ms. Behind one address there may be many callers.
    let perAddress: Limit
    let inAll: Limit

    /// So many addresses are remembered. The bucket of one that is forgotten is full again.
    private static let mostAddresses = 256

    /// - Parameter perSecond: callers in all; half as many from one address.
    init(perSecond: Int = CallerLimit.perSecond) {
        let rate = Int64(perSecond)
        inAll = Limit(perSecond: rate, burst: max(1, rate * 12 / 5))
        perAddress = Limit(perSecond: max(1, rate / 2), burst: max(1, rate * 8 / 5))
    }

    private var all = MonotonicTime(nanoseconds: 0)
    private var addresses: [String: MonotonicTime] = [:]

    /// Whether one more caller may come. It is counted only then.
    mutating func admits(_ address: String, at now: MonotonicTime) -> Bool {
        let own = addresses[address] ?? now
        guard Self.hasRoom(own, perAddress, at: now), Self.hasRoom(all, inAll, at: now) else { return false }
        all = max(all, now) + inAll.interval
        if addresses[address] == nil && addresses.count == Self.mostAddresses { makeRoom(at: now) }
        addresses[address] = max(own, now) + perAddress.interval
        return true
    }

    private static func hasRoom(_ full: MonotonicTime, _ limit: Limit, at now: MonotonicTime) -> Bool {
        full - now <= limit.interval * (limit.burst - 1)
    }

    /// Forgets the buckets that are full, or the fullest one.
    private mutating func makeRoom(at now: MonotonicTime) {
        addresses = addresses.filter { $0.value > now }
        guard addresses.count == Self.mostAddresses, let fullest = addresses.min(by: { $0.value < $1.value }) else { return }
        addresses[fullest.key] = nil
    }
}

/// How many callers a second get as far as the passphrase, on each listening port that is opened from now on.
public enum CallerLimit {
    public static let range = 1...1000
    public static let usual = 20
    private static let rate = Atomic<Int>(usual)

    /// For the whole process. Any thread may set it.
    public static var perSecond: Int {
        get { rate.load(ordering: .relaxed) }
        set { rate.store(min(max(newValue, range.lowerBound), range.upperBound), ordering: .relaxed) }
    }
}
