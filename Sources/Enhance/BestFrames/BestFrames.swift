/// Chooses the pictures that stand for a video best: those of most merit, and of different scenes.
public enum BestFrames {
    /// A picture that may be chosen.
    public struct Candidate: Sendable {
        public var merit: FrameMerit
        public var print: FramePrint

        public init(_ merit: FrameMerit, _ print: FramePrint) { (self.merit, self.print) = (merit, print) }
    }

    /// The score of each candidate, from 0 to 1.
    ///
    /// Sharpness and contrast depend on what is shown. So half of each is in proportion to the best picture of the same scene, half to
    /// the better ones of all.
    public static func scores(of candidates: [Candidate]) -> [Double] {
        func relative(_ value: (Candidate) -> Double) -> [Double] {
            let sorted = candidates.map(value).sorted()
            let good = max(sorted.isEmpty ? 0 : sorted[(sorted.count - 1) * 3 / 4], 1e-6)
            return candidates.map { candidate in
                let ofScene = candidates.filter { $0.print.distance(to: candidate.print) < FramePrint.oneScene }.map(value)
                    .max()
                let own = value(candidate)
                return 0.5 * own / max(ofScene ?? own, 1e-6) + 0.5 * min(1, own / good)
            }
        }
        let (sharpness, contrast) = (relative { $0.merit.sharpness }, relative { $0.merit.contrast })
        return candidates.indices.map { place in
            let merit = candidates[place].merit
            let factors = [
                (sharpness[place], 0.9), (merit.exposure, 0.7), (contrast[place], 0.7), (merit.colour, 0.15),
                (merit.steadiness, 0.3), (merit.fineness, 0.5),
            ]
            return factors.reduce(1) { $0 * (1 - $1.1 * (1 - min(1, max(0, $1.0)))) }
        }
    }

    /// The best candidates, the best first. Another one of a scene follows only where no good one of another scene is left.
    /// - Returns: their places among the candidates.
    public static func choose(_ count: Int, of candidates: [Candidate], _ scores: [Double]) -> [Int] {
        var chosen: [Int] = []
        let best = scores.max() ?? 0
        while chosen.count < min(count, candidates.count) {
            let values = candidates.indices.map { place -> Double in
                if chosen.contains(place) { return -1 }
                let nearest = chosen.map { candidates[place].print.distance(to: candidates[$0].print) }.min() ?? .infinity
                let isOther = nearest >= FramePrint.oneScene && scores[place] >= 0.5 * best
                return (isOther ? 1 : 0) + scores[place] * min(1, nearest / FramePrint.oneScene)
            }
            guard let place = values.indices.max(by: { values[$0] < values[$1] }) else { break }
            chosen.append(place)
        }
        return chosen
    }
}
