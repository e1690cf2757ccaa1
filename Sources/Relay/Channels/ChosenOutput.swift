import EnhanceNetworks
import Media
import Schedule
import Synchronization

/// Channel: what the output is made like, so that it fits the machine.
///
/// - Writers: ingest (``begin(_:cores:)``, when the size of the pictures is known), the observer (``update(at:_:cores:)``, five times
///   a second), and enhance (``content``).
/// - Readers: enhance (for each picture; the preset goes with the picture to encode), the observer.
/// - Read together: the size and the preset of ``current``.
///
/// Thread-safe. Reading is one atomic load.
final class ChosenOutput: Sendable {
    private let ladder = Lock<OutputLadder?>(nil)
    /// The choice in one word, or -1: four bits each for the preset's place, the bypass, and how many halves of the input's size; 0
    /// halves stand for a width and a height of 16 bits.
    private let word = Atomic<Int>(-1)

    /// Nil while nothing limits the output.
    var current: OutputChoice? {
        let word = word.load(ordering: .relaxed)
        guard word >= 0 else { return nil }
        let halves = word >> 8 & 15
        let size = PictureSize(width: word >> 12 & 0xffff, height: word >> 28 & 0xffff)
        return OutputChoice(
            size: halves > 0 ? .halves(halves) : .exactly(size), preset: EncoderPreset.allCases[word & 15],
            isBypass: word >> 4 & 1 == 1)
    }

    /// For what content the networks are that enlarge the pictures; nil before the first.
    var content: NetworkContent? {
        get {
            switch enlarging.load(ordering: .relaxed) {
            case 1: .general
            case 2: .calls
            default: nil
            }
        }
        set { enlarging.store(newValue.map { $0 == .calls ? 2 : 1 } ?? 0, ordering: .relaxed) }
    }
    private let enlarging = Atomic<Int>(0)

    /// A choice, and how many better ones there are.
    struct Place {
        var choice: OutputChoice
        var step: Int
        /// The next better choice, and the cores that it would need.
        var better: (choice: OutputChoice, cores: Double)?
        /// The input's size.
        var input: PictureSize

        /// Nothing that the machine could do more of would change it.
        var isOnlyOne: Bool

        /// The choice in words.
        var text: String { choice.text(input) + (isOnlyOne && choice.isBypass ? ": \(ChosenOutput.whyNothing)" : "") }
    }

    /// The present choice among the others; nil while nothing limits the output.
    var place: Place? {
        ladder.withLock {
            $0.map { ladder in
                let better = ladder.position > 0 ? ladder.choices[ladder.position - 1] : nil
                return Place(
                    choice: ladder.choice, step: ladder.position, better: better.map { ($0, ladder.need(of: $0).cores) },
                    input: ladder.stream.input, isOnlyOne: ladder.onlyBypasses)
            }
        }
    }

    /// How often the choice has changed since the first.
    var changes: Int { changed.load(ordering: .relaxed) }
    private let changed = Atomic<Int>(0)

    /// Chooses at the start of a stream. One that begins anew with equal pictures, such as that of a sender that returned, goes on as
    /// before: what it costs is known.
    /// - Returns: what to report; nil where nothing has changed, or the output is the best that was asked for.
    func begin(_ new: OutputLadder, cores: Cores) -> String? {
        ladder.withLock { ladder in
            if let ladder, ladder.isMade(like: new) { return nil }
            ladder = new
            ladder!.begin(cores: cores)
            store(ladder!.choice)
            if new.onlyBypasses {
                return "\(new.stream.input): \(Self.whyNothing); sends \(ladder!.choice.text(new.stream.input))"
            }
            let best = new.choices[0]
            return ladder!.position == 0
                ? nil : Self.reason(new, best, cores.room) + "sends " + ladder!.choice.text(new.stream.input)
        }
    }

    /// Chooses again.
    /// - Returns: what to report; nil where nothing has changed.
    func update(at now: MonotonicTime, _ pictures: OutputLadder.Pictures, cores: Cores) -> String? {
        ladder.withLock { ladder in
            guard let former = ladder else { return nil }
            guard ladder!.update(now: now, pictures, cores: cores) else { return nil }
            store(ladder!.choice)
            changed.add(1, ordering: .relaxed)
            let output = ladder!.choice.text(former.stream.input)
            if ladder!.passesForGain { return Self.whyNoGain + ": sends " + output }
            let isBetter = ladder!.position < former.position
            let reason = Self.reason(
                ladder!, isBetter ? ladder!.choice : former.choice, isBetter ? cores.room : cores.forOriginals)
            return reason + "sends " + output
        }
    }

    /// Pictures pass because there is no time for anything else.
    var passesForTime: Bool { ladder.withLock { $0?.passesForTime ?? false } }

    /// Takes over what work costs now.
    func learn(_ costs: OutputLadder.Costs) { ladder.withLock { $0?.learn(costs) } }

    private static let whyNoGain =
        "with the bits that it may have, a second encode takes more from the pictures than networks bring"
    fileprivate static let whyNothing = "too large to be enlarged by networks, and without them an encode gives nothing"

    private func store(_ choice: OutputChoice) {
        let size =
            switch choice.size {
            case .halves(let halves): halves << 8
            case .exactly(let size): size.width << 12 | size.height << 28
            }
        word.store(choice.preset.place | (choice.isBypass ? 1 << 4 : 0) | size, ordering: .relaxed)
    }

    private static func reason(_ ladder: OutputLadder, _ choice: OutputChoice, _ cores: Double) -> String {
        let need = ladder.need(of: choice)
        let size = choice.size.size(of: ladder.stream.input)
        let output = "at \(size) with \(choice.preset.rawValue)"
        // There may be cores enough, and one thread has too much to do.
        guard need.cores > 0.8 * cores || need.share < 0.8 else {
            return "one thread needs \(Int(need.share * 100)) % of the time \(output): "
        }
        let there = tenths(cores)
        return
            "needs \(tenths(need.cores)) \(there == "0" ? "cores, and other programs leave none," : "of \(there) cores") \(output): "
    }
}

private func tenths(_ value: Double) -> String {
    let rounded = Int((value * 10).rounded())
    return rounded % 10 == 0 ? "\(rounded / 10)" : "\(rounded / 10).\(rounded % 10)"
}

extension OutputChoice {
    /// What the output is, in words.
    func text(_ input: PictureSize) -> String {
        isBypass ? "pictures as they come" : "\(size.size(of: input)) with \(preset.rawValue)"
    }
}
