import Endpoint
import Foundation
import Settings

/// A stream that the API made, as a file keeps it over restarts of the service. It holds secrets, so it is never logged.
public struct KeptStream: Codable, Hashable, Sendable, CustomStringConvertible {
    struct Leg: Codable, Hashable, Sendable {
        /// As it was given.
        var url: String
        /// Where it was given beside the URL.
        var passphrase: String?
    }

    public var name: String
    var input: Leg
    var outputs: [Leg]
    /// The settings that were given, as text with units. The others follow the file's `defaults`.
    var settings: [String: String]
    /// Somebody has asked for it to stop.
    public var isStopped: Bool

    public var description: String { name }
}

extension StreamDefinition {
    /// The stream as a file keeps it.
    /// - Parameters:
    ///   - given: the settings that were given; the others follow the file's `defaults`.
    ///   - isStopped: somebody has asked for it to stop.
    public func kept(given: Set<String>, isStopped: Bool) -> KeptStream {
        let texts = values.allTexts
        return KeptStream(
            name: name, input: KeptStream.Leg(input), outputs: outputs.map(KeptStream.Leg.init),
            settings: texts.filter { given.contains($0.key) }, isStopped: isStopped)
    }
}

extension KeptStream.Leg {
    fileprivate init(_ leg: StreamLeg) { self.init(url: leg.givenText, passphrase: leg.passphrase?.text) }
}

extension KeptStream {
    /// The settings that were given.
    public var given: Set<String> { Set(settings.keys) }
}

extension ServiceConfiguration {
    /// Makes a stream of what a file keeps. It may have to obey other rules by now than when it was made.
    /// - Parameter others: the streams that run; their ports are taken.
    /// - Throws: the first fault.
    public func stream(_ kept: KeptStream, beside others: [StreamDefinition]) throws(SettingFault) -> StreamDefinition {
        var texts = kept.settings
        texts["input"] = kept.input.url
        texts["outputs"] = kept.outputs.map(\.url).joined(separator: "\n")
        var definition = try stream(kept.name, texts, beside: others)
        definition.input.passphrase = kept.input.passphrase.map { Secret($0) }
        for (index, leg) in kept.outputs.enumerated() where definition.outputs.indices.contains(index) {
            definition.outputs[index].passphrase = leg.passphrase.map { Secret($0) }
        }
        return definition
    }
}

/// The file that keeps the API's streams: JSON, for its owner alone.
public enum KeptStreamsText {
    private struct Form: Codable {
        /// What tells the file from others.
        var burnish: String
        var streams: [KeptStream]
    }

    private static let version = "streams 1"
    /// The most bytes of the file.
    public static let largest = 4 << 20

    public static func bytes(of streams: [KeptStream]) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Texts and booleans can always be written.
        return (try? encoder.encode(Form(burnish: version, streams: streams.sorted { $0.name < $1.name }))).map { Array($0) }
            ?? []
    }

    /// - Throws: what is wrong with the file, as a clause without anything that it holds.
    public static func streams(in bytes: [UInt8]) throws(ConfigurationEnvironment.ReadFailure) -> [KeptStream] {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(bytes)) else {
            throw ConfigurationEnvironment.ReadFailure("is cut off, or is not a file of burnishd's")
        }
        guard form.burnish == version else {
            throw ConfigurationEnvironment.ReadFailure("is of another version of burnishd")
        }
        return form.streams
    }
}
