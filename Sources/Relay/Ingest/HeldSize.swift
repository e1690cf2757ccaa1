import Media

/// The size at which pictures of a call leave, while they come in others.
///
/// Publishers send larger or smaller pictures as their network and their processor allow. Firefox begins with 320x180 and comes to
/// 640x360 within seconds. If the output followed, each viewer would get another size, and the stream another encoder, with each step.
/// So the size of the first pictures that leave is held: while they keep their shape and are not larger than it. Where the usual output
/// is larger, viewers get it once, when the pictures have kept their size for ``timeout``.
///
/// A pure value.
struct HeldSize {
    /// How long pictures of another size have to come before the output becomes larger for them.
    static let timeout = Nanoseconds.seconds(60)
    /// What was sent before a pause of this length is not held any more.
    static let longestAbsence = Nanoseconds.seconds(10)

    private var size: PictureSize?
    private var input: PictureSize?
    /// When the output becomes larger; nil where it does not.
    private var end: MonotonicTime?
    private var lost: MonotonicTime?

    /// Pictures left at this size; nil where they left as they came.
    mutating func record(_ output: PictureSize?) { size = output }

    /// Nothing comes any more.
    mutating func lose(at now: MonotonicTime) { lost = now }

    /// The output for pictures of a size, which may not be the usual one.
    mutating func output(for input: PictureSize, usual: OutputSize, at now: MonotonicTime) -> OutputSize {
        if let lost, now - lost > Self.longestAbsence { (size, self.input) = (nil, nil) }
        lost = nil
        defer { self.input = input }
        guard let size, Self.isLike(input, size), input.width <= size.width, input.height <= size.height else {
            end = nil
            return usual
        }
        let own = usual.size(of: input)
        guard own.samples > size.samples else {
            end = nil
            return own == size ? usual : .exactly(size)
        }
        if input != self.input || end == nil { end = now + Self.timeout }
        guard let end, end <= now else { return .exactly(size) }
        self.end = nil
        return usual
    }

    /// Whether the output is to be chosen anew, because it has been held for long enough.
    func isOver(at now: MonotonicTime) -> Bool { end.map { $0 <= now } ?? false }

    /// Encoders of calls round sides to multiples of 2 or 4.
    private static func isLike(_ a: PictureSize, _ b: PictureSize) -> Bool {
        let (first, second) = (a.width * b.height, b.width * a.height)
        return abs(first - second) * 32 <= max(first, second)
    }
}
