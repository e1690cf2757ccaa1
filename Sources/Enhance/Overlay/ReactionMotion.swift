import Glibc
import Media

/// Where the shapes of a reaction are at a time. Nothing is kept from picture to picture: each shape's way follows from the seed and its
/// number.
struct ReactionMotion {
    /// One shape on a picture.
    struct Sprite {
        var shape: ReactionShape
        var color: Int
        /// From the smallest to the largest: an index of ``sizes``.
        var size: Int
        /// Its middle, in heights of the picture: x from 0 to the picture's shape, y from 0 to 1, downwards.
        var x: Double
        var y: Double
    }

    /// Sides of shapes in heights of the picture.
    static let sizes = [0.025, 0.05, 0.09]

    let reaction: Reaction
    /// Seconds since it began.
    let time: Double
    /// The picture's width in heights.
    let width: Double

    var count: Int {
        switch reaction.kind {
        case .thumbsUp, .thumbsDown, .heart: 14
        case .balloons: 12
        case .rain: 40
        case .confetti: 60
        case .fireworks: 3 * 18
        case .lasers: 6 * 16
        }
    }

    /// A shape; nil while it is not to be seen.
    func sprite(_ index: Int) -> Sprite? {
        var random = SplitMix64(seed: reaction.seed &+ UInt64(index) &* 0x9E37_79B9)
        func number() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
        let (a, b, c) = (number(), number(), number())
        let color = Int(number() * 4.999)
        let (x, y, length) = (reaction.x * width, reaction.y, reaction.length.seconds)
        switch reaction.kind {
        case .thumbsUp, .thumbsDown, .heart:
            let shape: ReactionShape =
                reaction.kind == .heart ? .heart : reaction.kind == .thumbsUp ? .thumbUp : .thumbDown
            guard let part = part(from: a * length * 0.6, for: length * 0.4) else { return nil }
            let sway = 0.04 * sin(2 * .pi * (part + b))
            let size = part < 0.1 || part > 0.9 ? 0 : part < 0.2 || part > 0.75 ? 1 : 2
            let way = reaction.kind == .thumbsDown ? 0.45 : -0.45
            return Sprite(shape: shape, color: 0, size: size, x: x + 0.3 * (c - 0.5) + sway, y: y + way * part)
        case .balloons:
            guard let part = part(from: a * length * 0.4, for: length * 0.6) else { return nil }
            return Sprite(
                shape: .balloon, color: color, size: 2, x: b * width + 0.03 * sin(2 * .pi * (part + c)), y: 1.1 - 1.25 * part)
        case .rain:
            let cycle = fraction(time * (1 + 0.4 * b) + a)
            return Sprite(shape: .drop, color: 0, size: c < 0.5 ? 0 : 1, x: c * width + 0.03 * cycle, y: 1.1 * cycle - 0.05)
        case .confetti:
            guard let part = part(from: a * length * 0.5, for: length * 0.5) else { return nil }
            return Sprite(
                shape: .paper, color: (color + Int(8 * part)) % 5, size: 0, x: b * width + 0.05 * sin(2 * .pi * (2 * part + c)),
                y: 1.1 * part - 0.05)
        case .fireworks:
            // One rocket after the other. All sparks of one know its place.
            let rocket = index / 18
            var shared = SplitMix64(seed: reaction.seed &+ UInt64(1000 + rocket))
            let (across, down) = (Double(shared.next() >> 40) / Double(1 << 24), Double(shared.next() >> 40) / Double(1 << 24))
            guard let part = part(from: Double(rocket) * length / 4, for: length / 2) else { return nil }
            let angle = 2 * .pi * (Double(index % 18) + a) / 18
            let reach = 0.25 * (0.7 + 0.3 * b) * (1 - (1 - part) * (1 - part))
            return Sprite(
                shape: .spark, color: rocket % 5, size: 0, x: x + 0.5 * (across - 0.5) + reach * cos(angle),
                y: y + 0.3 * (down - 0.5) + reach * sin(angle) + 0.15 * part * part)
        case .lasers:
            let (beam, place) = (index / 16, Double(index % 16) + fraction(4 * time))
            let angle = -.pi * (Double(beam) + 0.5) / 6 + 0.35 * sin(2 * .pi * time * 0.5 + Double(beam))
            return Sprite(
                shape: .spark, color: beam % 5, size: 0, x: x + 0.06 * place * cos(angle), y: y + 0.06 * place * sin(angle))
        }
    }

    /// How far a shape is on its way, 0…1; nil before and after.
    private func part(from start: Double, for length: Double) -> Double? {
        let part = (time - start) / length
        return part >= 0 && part < 1 ? part : nil
    }

    private func fraction(_ number: Double) -> Double { number - number.rounded(.down) }
}
