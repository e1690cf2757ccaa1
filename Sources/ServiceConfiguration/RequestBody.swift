import Endpoint
import Foundation
import Settings

/// The body of a request that makes or changes a stream.
public enum RequestBody {
    /// The most bytes that it may have.
    public static let largestBody = 64 * 1024
    private static let mostKeys = 64
    private static let longestText = 4096

    /// The texts of a JSON object with one value a key: `{"scale": 2, "budget": "80ms", "fps": null}`.
    ///
    /// Numbers become texts as people write them. A null, which returns to the default, becomes nil.
    /// - Throws: what is wrong; the key is empty where the body as a whole is meant.
    public static func texts(json: [UInt8]) throws(SettingFault) -> [String: String?] {
        guard json.count <= largestBody else {
            throw SettingFault("", "the body has \(json.count) bytes; \(largestBody) are the most")
        }
        let values: [String: Scalar]
        do {
            values = try JSONDecoder().decode([String: Scalar].self, from: Data(json))
        } catch {
            throw SettingFault("", "the body is no JSON object of keys and values, as {\"budget\": \"80ms\"}")
        }
        guard values.count <= mostKeys else {
            throw SettingFault("", "the body has \(values.count) keys; \(mostKeys) are the most")
        }
        var texts: [String: String?] = [:]
        for key in values.keys.sorted() {
            switch values[key] {
            case .text(let text)?:
                guard text.utf8.count <= longestText else {
                    throw SettingFault(key.excerpt, "has \(text.utf8.count) bytes; \(longestText) are the most")
                }
                texts[key] = text
            case .null?: texts.updateValue(nil, forKey: key)
            case .other?, nil: throw SettingFault(key.excerpt, "is one text or number, not a list or an object")
            }
        }
        return texts
    }

    private enum Scalar: Decodable {
        case text(String)
        case null
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .text("\(value)")
            } else if let value = try? container.decode(Int64.self) {
                self = .text("\(value)")
            } else if let value = try? container.decode(Double.self) {
                self = .text("\(value)")
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else {
                self = .other
            }
        }
    }
}

extension ServiceConfiguration {
    /// Makes a stream of what a caller of the API gives.
    /// - Parameters:
    ///   - name: no other stream's.
    ///   - texts: the keys of the configuration file, as text with units.
    ///   - others: the streams that run; their ports are taken.
    /// - Throws: the first fault.
    public func stream(
        _ name: String, _ texts: [String: String], beside others: [StreamDefinition]
    ) throws(SettingFault) -> StreamDefinition {
        guard StreamDefinition.isName(name) else {
            let text =
                "is no name for a stream: it has 1 to 64 letters, digits, dots, _ and -, and begins with one of the first two"
            throw SettingFault(name.excerpt, text)
        }
        return try read(name, texts.mapValues { $0 }, base: nil, beside: others)
    }

    /// Changes a stream as a caller of the API asks. A text of nil returns to the default.
    /// - Parameter others: the streams that run; their ports are taken. The stream itself may be among them.
    /// - Throws: the first fault.
    public func stream(
        _ stream: StreamDefinition, changedBy texts: [String: String?], beside others: [StreamDefinition]
    ) throws(SettingFault) -> StreamDefinition {
        try read(stream.name, texts, base: stream, beside: others.filter { $0.name != stream.name })
    }

    private func read(
        _ name: String, _ texts: [String: String?], base: StreamDefinition?, beside others: [StreamDefinition]
    ) throws(SettingFault) -> StreamDefinition {
        let nothing = ConfigurationEnvironment { (_, _) throws(ConfigurationEnvironment.ReadFailure) in
            throw ConfigurationEnvironment.ReadFailure("is not read for the API")
        }
        var reading = StreamReading(
            name: name, defaults: defaults, environment: nothing, origin: .api(folders: folders))
        let entries = texts.keys.sorted().map { key in
            let content: ConfigurationNode.Content = if let text = texts[key] ?? nil { .scalar(text) } else { .null }
            return ConfigurationNode.Entry(key: key, line: 0, value: ConfigurationNode(line: 0, content: content))
        }
        let definition = reading.read(entries, base: base, line: 0)
        if let fault = reading.faults.first?.fault { throw fault.plain }
        guard let definition else { throw SettingFault("input", "is missing") }
        var conflicts = PortConflicts()
        for other in others { _ = conflicts.add(other, inputLine: 0, outputLine: 0) }
        if let (_, fault) = conflicts.add(definition, inputLine: 0, outputLine: 0).first { throw fault.plain }
        return definition
    }
}
