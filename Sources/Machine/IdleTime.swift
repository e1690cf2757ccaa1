import Glibc
import Media

/// Reads how long the processors that this process may use have been idle, from Linux's /proc/stat.
///
/// Not thread-safe. No call allocates.
@safe struct IdleTime: ~Copyable {
    /// The longest line of a processor: ten numbers of 64 bits.
    private static let longestLine = 256

    private let file: Int32
    private let processors: [Int]
    private var text: [UInt8]

    /// - Parameters:
    ///   - processors: their numbers, in ascending order; nil for all of the machine.
    ///   - path: of a file like /proc/stat.
    init(of processors: [Int]?, reading path: String = "/proc/stat") {
        file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        self.processors = processors ?? []
        // The first line is of all processors. The one after the last tells whether there are others.
        text = Array(repeating: 0, count: Self.longestLine * (processors?.last.map { $0 + 3 } ?? 1))
    }

    deinit { if file >= 0 { _ = close(file) } }

    /// The idle time of those processors together since the start of the machine; nil where the system does not tell.
    mutating func read() -> Nanoseconds? {
        // One call: between two the numbers would change.
        let count = unsafe text.withUnsafeMutableBytes { unsafe pread(file, $0.baseAddress, $0.count, 0) }
        return count > 0 ? Self.idle(in: text.span.extracting(..<count), of: processors) : nil
    }

    /// - Parameter processors: their numbers, in ascending order.
    /// - Returns: their idle time; that of all processors where the text does not list each of them. Some containers show their
    ///   processors under other numbers, and then they show no others.
    static func idle(in text: Span<UInt8>, of processors: [Int]) -> Nanoseconds? {
        var rest = 0
        guard let all = Line(text, &rest), all.processor == nil else { return nil }
        var (sum, found, areOthers) = (Int64(0), 0, false)
        while found < processors.count || !areOthers, let line = Line(text, &rest), let processor = line.processor {
            if found < processors.count, processor == processors[found] {
                sum &+= line.idle
                found += 1
            } else {
                areOthers = true
            }
        }
        // The sum of the lines is rounded once for each.
        let isSum = areOthers && found == processors.count && found > 0
        // USER_HZ is 100 on every architecture that this runs on.
        return Nanoseconds((isSum ? sum : all.idle) &* 10_000_000)
    }

    /// One line, `cpu  user nice system idle iowait …` of all processors or `cpu3 …` of one, in ticks of 10 ms.
    private struct Line {
        var processor: Int?
        /// Idle, also while programs wait for a disk.
        var idle: Int64

        /// - Parameter rest: where the line begins; where the next one does afterwards.
        /// - Returns: nil for any other line, and for one that is cut off.
        init?(_ text: Span<UInt8>, _ rest: inout Int) {
            var index = rest
            guard text.count - index > 3, text[index] == UInt8(ascii: "c"), text[index + 1] == UInt8(ascii: "p"),
                text[index + 2] == UInt8(ascii: "u")
            else { return nil }
            index += 3
            processor = Self.number(text, &index).map { Int(truncatingIfNeeded: $0) }
            idle = 0
            for field in 0..<5 {
                guard index < text.count, text[index] == UInt8(ascii: " ") else { return nil }
                while index < text.count, text[index] == UInt8(ascii: " ") { index += 1 }
                guard let value = Self.number(text, &index) else { return nil }
                if field >= 3 { idle &+= value }
            }
            while index < text.count, text[index] != UInt8(ascii: "\n") { index += 1 }
            guard index < text.count else { return nil }
            rest = index + 1
        }

        private static func number(_ text: Span<UInt8>, _ index: inout Int) -> Int64? {
            var number: Int64?
            while index < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[index]) {
                number = (number ?? 0) &* 10 &+ Int64(text[index] - UInt8(ascii: "0"))
                index += 1
            }
            return number
        }
    }
}
