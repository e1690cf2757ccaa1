import Container
import Media

/// The program's sound: what was sent of each stream of it, so that silence can take its place where the output must go on
/// without its source (`keep-output`).
///
/// Confined to the send stage's lock.
struct OutputSound {
    private let goesOn: Bool
    /// The layout whose streams these are.
    private var number = -1
    /// By the index of a passing stream; nil for one that is no sound. Empty where the output need not go on.
    private var keepers: [SoundKeeper?] = []
    /// Which of them calls get, as the newest unit for calls says.
    private var calls: (stream: Int, form: CallStream.Form)?

    init(goesOn: Bool) { self.goesOn = goesOn }

    /// The program has this layout from now on. Does nothing where it had it before.
    mutating func follow(_ program: borrowing OutputProgram) {
        guard goesOn, number != program.number, let layout = program.layout else { return }
        number = program.number
        keepers = layout.passedStreams.map { SoundKeeper($0) }
        calls = nil
    }

    /// Whether silence was sent for the time of a unit.
    mutating func hasFilled(_ unit: PassingUnit, at presentation: MediaTime?) -> Bool {
        guard holds(unit), let presentation else { return false }
        return keepers[unit.stream]?.hasFilled(presentation, arrival: unit.arrival) == true
    }

    /// Learns from a unit that goes out.
    /// - Returns: false when silence was sent for its time, so that it must not go out.
    mutating func observe(_ unit: PassingUnit, at presentation: MediaTime?) -> Bool {
        guard holds(unit) else { return true }
        if let form = unit.forCalls { calls = (unit.stream, form) }
        if hasFilled(unit, at: presentation) { return false }
        unsafe keepers[unit.stream]?.observe(
            Span(_unsafeElements: unit.bytes.assumingMemoryBound(to: UInt8.self)), at: presentation, arrival: unit.arrival)
        return true
    }

    private func holds(_ unit: PassingUnit) -> Bool { unit.layoutNumber == number && keepers.indices.contains(unit.stream) }

    /// The streams that silence may be needed for.
    var streams: Range<Int> { keepers.indices }

    /// The next frame of silence that a stream needs for sound up to a time: when it begins, its bytes, and how calls get it.
    mutating func silence(
        _ stream: Int, upTo time: MediaTime, now: MonotonicTime
    ) -> (begin: MediaTime, frame: [UInt8], forCalls: CallStream.Form?)? {
        guard let begin = keepers[stream]?.next(upTo: time, now: now), let frame = keepers[stream]?.frame else { return nil }
        return (begin, frame, calls?.stream == stream ? calls?.form : nil)
    }
}
