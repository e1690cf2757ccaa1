import Media

/// Decides which layer a viewer of a call gets, by what their link carries: down at once, up slowly.
///
/// The enhanced stream is worth its bits where it has more of them than the publisher's own pictures. With as many it is worse than
/// what the viewer's scaler makes of those (−12.5 VMAF NEG on a busy clip), with 1.3 to 2 times as many it is better (+3 to +9).
///
/// Who cannot carry the publisher's pictures either gets the smaller encode, where there is one, or sound alone. Where packets of older
/// pictures cannot show what the link carries meanwhile, pictures are tried: ones that are too large fill its queue. A viewer for whom alone
/// the encode works gets it with fewer bits instead, down to the operator's floor; while a queue on their way empties, the link seems to
/// carry less than that for a moment.
///
/// A pure value; it reads no clock.
struct LayerChoice {
    /// Bits a second that a viewer's link must carry.
    struct Needs: Equatable {
        /// For the enhanced stream, where it is worth more than the publisher's pictures.
        var enhanced: Int
        /// For the publisher's pictures; nil where viewers cannot get them.
        var sent: Int?
        /// For an encode that works for this viewer alone.
        var least: Int
        /// For the smaller encode with its fewest bits; nil where there can be none.
        var small: Int?

        init(enhanced: Int, sent: Int?, least: Int, small: Int? = nil) {
            (self.enhanced, self.sent, self.least, self.small) = (enhanced, sent, least, small)
        }

        /// - Parameters:
        ///   - input: what the publisher's pictures have, 0 while that is not known; nil where viewers cannot get them.
        ///   - encoded: what the encoder's have at the moment; nil where it makes none.
        ///   - floor: the least that the operator allows; nil where the encoder's rate follows nobody.
        ///   - ceiling: the most.
        ///   - small: the fewest of the smaller encode; nil where there can be none.
        init(input: Int?, encoded: Int?, floor: Int?, ceiling: Int, small: Int? = nil) {
            let fixed = encoded.map { min($0, ceiling) } ?? ceiling
            let worth = Int(Double(input ?? 0) * LayerChoice.worth)
            enhanced = LayerChoice.sound + (floor.map { max($0, min(worth, ceiling)) } ?? fixed)
            sent = input.map { LayerChoice.sound + Int(Double($0) * LayerChoice.peaks) }
            least = LayerChoice.sound + min(floor ?? fixed, fixed)
            self.small = small.map { LayerChoice.sound + $0 }
        }

        /// Bits a second beyond which it does not matter what a link carries; nil where it never does.
        /// - Parameter hasFloor: the encoder's rate follows its viewers, up to the ceiling.
        func useful(hasFloor: Bool, ceiling: Int) -> Int? {
            guard hasFloor || sent != nil else { return nil }
            let layers = Int(Double(max(enhanced, sent ?? 0)) * LayerChoice.room)
            return hasFloor ? max(layers, LayerChoice.sound + ceiling) : layers
        }
    }

    /// The share of the publisher's bits with which the enhanced stream is the better one.
    static let worth = 1.3
    /// A second may have so many more bits than the mean of four.
    static let peaks = 1.1
    /// Opus with its headers.
    static let sound = 64_000
    /// A link must carry so much more than a layer needs before its viewer gets it, for so long.
    static let room = 1.25
    static let firstWait = Nanoseconds.seconds(4)
    /// It doubles when a layer has proved too much within ``relapse``.
    static let longestWait = Nanoseconds.seconds(64)
    static let relapse = Nanoseconds.seconds(20)
    /// Pictures that are tried stay for so long, unless the estimate falls below what it was without them by ``trialFall``: at first it
    /// still says what it said before there were any.
    static let trialTime = Nanoseconds.seconds(3)
    static let trialFall = 0.9
    /// For so long an encode that follows a viewer's link may find too little of it.
    static let longestDip = Nanoseconds.seconds(2)

    /// What a link must carry more for, the higher.
    private enum Step: Int, Comparable {
        case sound, small, alone, sent, enhanced

        static func < (a: Step, b: Step) -> Bool { a.rawValue < b.rawValue }
    }

    private var step = Step.enhanced
    private var wait = Self.firstWait
    /// Since when there has been room for more.
    private var roomSince: MonotonicTime?
    /// Since when an encode that follows this viewer has found too little.
    private var shortSince: MonotonicTime?
    private var changed: (time: MonotonicTime, wasUp: Bool)?
    /// Pictures are tried after sound alone, and what the link seemed to carry then.
    private var trial: (end: MonotonicTime, capacity: Double)?

    init() {}

    var layer: ViewerLayer {
        switch step {
        case .enhanced, .alone: .enhanced
        case .sent: .sent
        case .small: .small
        case .sound: .sound
        }
    }

    /// Takes in what a link carries now.
    /// - Parameters:
    ///   - capacity: bits a second; nil where nobody knows, which changes nothing.
    ///   - needs: where viewers cannot get the publisher's pictures, all share the encode.
    ///   - isAlone: the encode works for no other viewer.
    ///   - isProbed: what the link carries is known also without pictures.
    mutating func observe(
        _ capacity: Double?, _ needs: Needs, isAlone: Bool, isProbed: Bool = false, at now: MonotonicTime
    ) {
        guard needs.sent != nil || needs.small != nil else {
            // There is nothing to choose between.
            (step, roomSince) = (.enhanced, nil)
            return
        }
        if step == .small, needs.small == nil { fall(to: .sound, at: now) }
        guard let capacity else { return }
        if let trial, now < trial.end, capacity >= trial.capacity * Self.trialFall { return }
        trial = nil
        let most = bridgingDip(Self.highest(for: capacity, needs, isAlone), needs, isAlone, at: now)
        guard most >= step else { return fall(to: most, at: now) }
        var next = Self.highest(for: capacity / Self.room, needs, isAlone)
        if step == .sound, !isProbed { next = max(next, Self.trial(needs, isAlone)) }
        guard next > step else {
            roomSince = nil
            return
        }
        let since = roomSince ?? now
        roomSince = since
        guard now - since >= wait else { return }
        if step == .sound, !isProbed { trial = (now + Self.trialTime, capacity) }
        (step, roomSince, changed) = (next, nil, (now, true))
    }

    /// What is tried without knowing what the link carries: the least that shows it.
    private static func trial(_ needs: Needs, _ isAlone: Bool) -> Step {
        if needs.small != nil { return .small }
        return isAlone && needs.least < needs.sent ?? 0 ? .alone : .sent
    }

    /// What is lower than an encode that follows this viewer's link counts only once it has lasted, and so does what makes the publisher's
    /// pictures better than an encode for this viewer alone: the encode follows the link meanwhile.
    private mutating func bridgingDip(_ most: Step, _ needs: Needs, _ isAlone: Bool, at now: MonotonicTime) -> Step {
        let isWorse = isAlone && most == .sent && step == .enhanced && needs.least < needs.enhanced
        guard isWorse || most == .sound && step != .sound && (isAlone || needs.small != nil) else {
            shortSince = nil
            return most
        }
        let since = shortSince ?? now
        shortSince = since
        guard now - since < Self.longestDip else { return most }
        if isWorse { return .enhanced }
        return needs.small != nil ? .small : .alone
    }

    private mutating func fall(to lower: Step, at now: MonotonicTime) {
        let isRelapse = changed.map { $0.wasUp && now - $0.time < Self.relapse } ?? false
        wait = isRelapse ? min(wait * 2, Self.longestWait) : changed.map { $0.wasUp } ?? true ? Self.firstWait : wait
        (step, roomSince, changed) = (lower, nil, (now, false))
    }

    private static func highest(for capacity: Double, _ needs: Needs, _ isAlone: Bool) -> Step {
        if capacity >= Double(needs.enhanced) { return .enhanced }
        if let sent = needs.sent, capacity >= Double(sent) { return .sent }
        if isAlone, capacity >= Double(needs.least) { return .alone }
        if let small = needs.small, capacity >= Double(small) { return .small }
        return .sound
    }
}
