import Media
import Schedule
import Synchronization

/// Channel: what the output is made like, so that it fits the machine.
///
/// - Writers: ingest (``begin(_:cores:_:)``, when the size of the pictures is known) and the observer
///   (``update(at:costs:isStruggling:cores:)``, five times a second).
/// - Readers: enhance (the scale, for each picture), encode (the preset, for each picture), the observer.
/// - Read together: the scale and the preset of ``current``.
///
/// Thread-safe. Reading is one atomic load.
final class ChosenOutput: Sendable {
    private let ladder = Lock<OutputLadder?>(nil)
    /// The choice in one word, or -1: the scale, the preset's place and the bypass, four bits each.
    private let word = Atomic<Int>(-1)

    /// Nil while nothing limits the output.
    var current: OutputChoice? {
        let word = word.load(ordering: .relaxed)
        guard word >= 0 else { return nil }
        return OutputChoice(
            scale: word & 15, preset: EncoderPreset.allCases[word >> 4 & 15], isBypass: word >> 8 & 1 == 1)
    }

    /// Chooses at the start of a stream.
    /// - Returns: what to report; nil where the output is the best that was asked for.
    func begin(_ new: OutputLadder, cores: Double) -> String? {
        ladder.withLock { ladder in
            ladder = new
            ladder!.begin(cores: cores)
            store(ladder!.choice)
            let best = new.choices[0]
            return ladder!.position == 0 ? nil : Self.reason(new, best, cores) + ladder!.choice.text(new.stream.input)
        }
    }

    /// Chooses again.
    /// - Parameter costs: what frames have cost with a choice; nil where there were none.
    /// - Returns: what to report; nil where nothing has changed.
    func update(
        at now: MonotonicTime, costs: (OutputChoice) -> OutputLadder.Costs?, isStruggling: Bool, cores: Double
    ) -> String? {
        ladder.withLock { ladder in
            guard let former = ladder else { return nil }
            let observed = former.choice.isBypass ? nil : costs(former.choice)
            guard ladder!.update(now: now, observed: observed, isStruggling: isStruggling, cores: cores) else { return nil }
            store(ladder!.choice)
            let isBetter = ladder!.position < former.position
            let reason = Self.reason(ladder!, isBetter ? ladder!.choice : former.choice, cores)
            return reason + ladder!.choice.text(former.stream.input)
        }
    }

    private func store(_ choice: OutputChoice) {
        word.store(choice.scale | choice.preset.place << 4 | (choice.isBypass ? 1 << 8 : 0), ordering: .relaxed)
    }

    private static func reason(_ ladder: OutputLadder, _ choice: OutputChoice, _ cores: Double) -> String {
        let need = ladder.need(of: choice)
        let size = ladder.stream.input.scaled(by: choice.scale)
        let output = "at \(size) with \(choice.preset.rawValue)"
        // There may be cores enough, and one thread has too much to do.
        guard need.cores > 0.8 * cores || need.share < 0.8 else {
            return "one thread needs \(Int(need.share * 100)) % of the time \(output): "
        }
        return "needs \(tenths(need.cores)) of \(tenths(cores)) cores \(output): "
    }
}

private func tenths(_ value: Double) -> String {
    let rounded = Int((value * 10).rounded())
    return rounded % 10 == 0 ? "\(rounded / 10)" : "\(rounded / 10).\(rounded % 10)"
}

extension OutputChoice {
    /// What the output is, in words.
    func text(_ input: PictureSize) -> String {
        isBypass ? "sends pictures as they come" : "sends \(input.scaled(by: scale)) with \(preset.rawValue)"
    }
}
