import Endpoint
import Settings

extension StreamReading {
    /// Reads `publish-token` and `play-token`, or where they are.
    mutating func callTokens(
        _ entries: [String: ConfigurationNode.Entry], base: CallTokens?, _ input: StreamLeg?, _ outputs: [StreamLeg]
    ) -> CallTokens {
        // They can only be given in the file, which says all of them.
        guard isForFile else { return base ?? CallTokens() }
        var tokens = CallTokens()
        tokens.publish = token("publish-token", entries, goesWith: "whip: input", input.map { [$0] } ?? [])
        tokens.play = token("play-token", entries, goesWith: "whep: output", outputs)
        return tokens
    }

    private mutating func token(
        _ key: String, _ entries: [String: ConfigurationNode.Entry], goesWith owner: String, _ legs: [StreamLeg]
    ) -> Secret? {
        let reading = SecretReading(key: key, sizes: 16...256, environment: environment)
        guard let entry = onlyEntry(of: reading, entries), let text = text(of: entry, default: nil) else { return nil }
        do throws(SettingFault) {
            let token = try reading.token(key: entry.key, text: text)
            let isUsed = legs.contains { if case .call = $0.url { true } else { false } }
            // A leg that cannot be read has a fault of its own.
            if !isUsed, !legs.isEmpty { throw SettingFault(entry.key, "goes with a \(owner)") }
            return token
        } catch {
            fault(entry.line, error)
            return nil
        }
    }
}
