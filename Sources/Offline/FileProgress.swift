import Media

/// How far the work on a file is, and how long it will still take, as a line for people.
public struct FileProgress: Sendable {
    private let start: MonotonicTime

    /// - Parameter start: when the work began.
    public init(since start: MonotonicTime) { self.start = start }

    /// - Parameters:
    ///   - done: pictures that are done.
    ///   - all: pictures in the file; nil where it does not say.
    /// - Returns: such as `250 of 1000 pictures (25 %), 12.5 a second, 1:00 left`.
    public func text(_ done: Int, of all: Int?, at now: MonotonicTime) -> String {
        let seconds = (now - start).seconds
        let rate = seconds > 0 ? Double(done) / seconds : 0
        let tenths = Int((rate * 10).rounded())
        let speed = tenths < 1000 ? "\(tenths / 10).\(tenths % 10)" : "\(tenths / 10)"
        guard let all, all > 0 else { return "\(done) pictures, \(speed) a second" }
        // A file may have more pictures than it says.
        let left = max(all - done, 0)
        let text = "\(done) of \(max(all, done)) pictures (\(100 * done / max(all, done)) %), \(speed) a second"
        return rate > 0 ? text + ", \(Self.clock(Double(left) / rate)) left" : text
    }

    /// Minutes and seconds, with hours where there are any.
    private static func clock(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 359_999))
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let minutes = whole / 60
        return minutes < 60
            ? "\(minutes):\(two(whole % 60))" : "\(minutes / 60):\(two(minutes % 60)):\(two(whole % 60))"
    }
}
