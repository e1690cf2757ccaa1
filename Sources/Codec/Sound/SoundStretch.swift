/// Makes sound last longer and keeps its pitch: overlapping pieces of the input are laid out further apart, each moved a little so that
/// it continues the one before (WSOLA: W. Verhelst and M. Roelands, "An overlap-add technique based on waveform similarity", ICASSP
/// 1993). Where pieces lie is counted from the beginning, so sound does not drift away from its pictures.
///
/// A value. Interleaved stereo of ``SoundLine/rate``.
struct SoundStretch {
    /// Half a piece: so far apart pieces lie in the output.
    static let hop = 960
    /// A piece may move so far either way: half a wave of 83 Hz.
    private static let reach = 288
    /// What counts as about as like.
    private static let tolerance: Float = 0.5
    /// Every so many samples are compared first, and then those between.
    private static let coarse = 4
    private static let channels = SoundResampler.channels

    private let factor: Int
    /// What pieces are still made of, and where its first sample is in the input.
    private var input: [Float] = []
    private var first = 0
    /// The number of the piece that is faded in next, and where the one before it begins in the input.
    private var piece = 1
    private var start = -SoundStretch.hop
    /// How many samples have come in.
    private var end: Int { first + input.count / Self.channels }
    private let fade: [Float]

    /// - Parameter factor: how many times longer sound becomes; 1 leaves it.
    init(by factor: Int) {
        self.factor = factor
        fade = (0..<Self.hop).map { n in
            // Flat at both ends, and together with its mirror image 1.
            let phase = (Float(n) + 0.5) / Float(Self.hop)
            return phase * phase * (3 - 2 * phase)
        }
    }

    /// Adds what follows.
    mutating func add(_ samples: UnsafeBufferPointer<Float>) { unsafe input.append(contentsOf: samples) }

    /// Appends to `output` what is known of the result.
    /// - Parameter isLast: nothing follows; what comes out is then as long as it has to be.
    mutating func take(isLast: Bool, into output: inout [Float]) {
        while true {
            let nominal = piece * Self.hop / factor - Self.hop
            guard isLast || nominal + Self.reach + 2 * Self.hop <= end else { return }
            // The piece before this one is heard from here on.
            let rest = end * factor - (piece - 1) * Self.hop
            guard rest > 0 else { return }
            let next = factor == 1 ? nominal : nominal + shift(from: nominal, continuing: start + Self.hop)
            for n in 0..<(isLast ? min(Self.hop, rest) : Self.hop) {
                for channel in 0..<Self.channels {
                    let (before, after) = (sample(start + Self.hop + n, channel), sample(next + n, channel))
                    output.append(before + (after - before) * fade[n])
                }
            }
            start = next
            piece += 1
            let used = min(start, piece * Self.hop / factor - Self.hop - Self.reach) - first
            if used > 16 * Self.hop, used <= end - first {
                input.removeFirst(used * Self.channels)
                first += used
            }
        }
    }

    /// Silence before the beginning and behind the end.
    private func sample(_ position: Int, _ channel: Int) -> Float {
        position < first || position >= end ? 0 : input[(position - first) * Self.channels + channel]
    }

    /// How far to move a piece so that its first half is like what continues the one before: the nearest place that is about as like
    /// as any. The likest one would mostly be the continuation itself, and sound would run ahead of its pictures.
    private func shift(from nominal: Int, continuing position: Int) -> Int {
        let wanted = coarsely(position, Self.hop / Self.coarse)
        guard wanted.contains(where: { abs($0) > 1e-4 }) else { return 0 }
        let places = coarsely(nominal - Self.reach, (2 * Self.reach + Self.hop) / Self.coarse)
        let reach = Self.reach / Self.coarse
        let likenesses = (0...2 * reach).map { Self.likeness(wanted, places, at: $0) }
        let least = likenesses.max()! - Self.tolerance
        var middle: Int?
        for place in 1..<2 * reach
        where likenesses[place] >= max(least, likenesses[place - 1], likenesses[place + 1])
            && abs(place - reach) < abs(middle ?? 2 * reach)
        {
            middle = place - reach
        }
        guard let middle else { return 0 }
        let near = Self.coarse * middle - Self.coarse + 1...Self.coarse * middle + Self.coarse - 1
        let (exact, around) = (mono(position, Self.hop), mono(nominal + near.lowerBound, Self.hop + near.count))
        var best = (likeness: -Float.infinity, shift: 0)
        for move in near {
            let likeness = Self.likeness(exact, around, at: move - near.lowerBound)
            if likeness > best.likeness { best = (likeness, move) }
        }
        return best.shift
    }

    /// Both channels together, from a position on.
    private func mono(_ position: Int, _ count: Int) -> [Float] {
        (position..<position + count).map { sample($0, 0) + sample($0, 1) }
    }

    private func coarsely(_ position: Int, _ count: Int) -> [Float] {
        (0..<count).map { n in
            var sum: Float = 0
            for place in 0..<Self.coarse {
                let position = position + n * Self.coarse + place
                sum += sample(position, 0) + sample(position, 1)
            }
            return sum
        }
    }

    /// 1 for the same samples, less for others, and for the same ones at another loudness.
    private static func likeness(_ wanted: [Float], _ samples: [Float], at place: Int) -> Float {
        unsafe wanted.withUnsafeBufferPointer { a in
            unsafe samples.withUnsafeBufferPointer { b in
                var (product, energy): (Float, Float) = (0, 1e-9)
                for n in 0..<a.count {
                    let (one, other) = unsafe (a[n], b[place + n])
                    product += one * other
                    energy += one * one + other * other
                }
                return 2 * product / energy
            }
        }
    }
}
