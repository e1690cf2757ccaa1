import Media

/// Whether a sender's marker bits tell where its pictures end.
///
/// They should (RFC 6184, 5.1; RFC 7741, 4.1), but many cameras mark each NAL unit or each slice. A picture that is handed on too soon
/// is damaged, and so are all up to the next keyframe. So markers are believed once a keyframe's was right: the next packet began
/// another picture, or none came for a while. From then on a picture ends with its marker, at once. When a marker proves wrong, none
/// of this sender's is believed any more: its pictures end when the next one begins.
///
/// A pure value.
struct MarkerTrust {
    enum Verdict { case unproven, right, wrong }

    private(set) var verdict = Verdict.unproven
    private var confirmations = 0
    /// The usual time between two pictures; zero before any.
    private var interval = Nanoseconds.zero
    private var began: MonotonicTime?

    /// A stream of so many pictures without a keyframe has none.
    private static let enoughWithoutKeyframe = 30
    /// The packets of one picture follow each other sooner.
    private static let unprovenTimeout = Nanoseconds.milliseconds(20)
    private static let leastTimeout = Nanoseconds.milliseconds(50)
    private static let longestTimeout = Nanoseconds.seconds(2)

    /// A picture's first packet has come.
    mutating func pictureBegan(at arrival: MonotonicTime) {
        defer { began = arrival }
        guard let began else { return }
        let step = min(max(.zero, arrival - began), Self.longestTimeout)
        interval = interval == .zero ? step : Nanoseconds(interval.count + (step - interval).count / 8)
    }

    /// A marked packet was a picture's last one.
    mutating func confirm(isKeyframe: Bool) {
        confirmations += 1
        if verdict == .unproven, isKeyframe || confirmations >= Self.enoughWithoutKeyframe { verdict = .right }
    }

    /// A marked packet was not a picture's last one.
    mutating func contradict() { verdict = .wrong }

    /// How long after a marked packet its picture counts as complete, if nothing comes.
    var timeout: Nanoseconds {
        verdict == .unproven
            ? Self.unprovenTimeout : min(max(Nanoseconds(interval.count * 3), Self.leastTimeout), Self.longestTimeout)
    }
}
