/// The form of a JSON value, as JSON Schema describes it in an OpenAPI document.
indirect enum Schema: Sendable {
    case bool
    case integer(ClosedRange<Int64>? = nil, fallback: Int64? = nil)
    case number(ClosedRange<Double>? = nil, fallback: Double? = nil)
    case text(pattern: String? = nil, most: Int? = nil)
    case choice([String], fallback: String? = nil)
    case list(Schema, atLeast: Int = 0)
    /// Keys that are always there, keys that may be, and no others.
    case object(String, [String: Schema], optional: [String: Schema] = [:])
    /// Any keys, all with values of one form.
    case map(Schema)
    case nullable(Schema)
    case either([Schema])
    /// One of the document's named forms.
    case named(String)

    var json: JSON {
        switch self {
        case .bool: return ["type": "boolean"]
        case .integer(let range, let fallback):
            var members: [String: JSON] = ["type": "integer", "format": "int64"]
            if let range {
                members["minimum"] = .integer(range.lowerBound)
                if range.upperBound != .max { members["maximum"] = .integer(range.upperBound) }
            }
            if let fallback { members["default"] = .integer(fallback) }
            return .object(members)
        case .number(let range, let fallback):
            var members: [String: JSON] = ["type": "number"]
            if let range {
                members["minimum"] = .number(range.lowerBound)
                if range.upperBound < .infinity { members["maximum"] = .number(range.upperBound) }
            }
            if let fallback { members["default"] = .number(fallback) }
            return .object(members)
        case .text(let pattern, let most):
            var members: [String: JSON] = ["type": "string"]
            if let pattern { members["pattern"] = .text(pattern) }
            if let most { members["maxLength"] = .count(most) }
            return .object(members)
        case .choice(let texts, let fallback):
            var members: [String: JSON] = ["type": "string", "enum": .list(texts.map(JSON.text))]
            if let fallback { members["default"] = .text(fallback) }
            return .object(members)
        case .list(let item, let least):
            var members: [String: JSON] = ["type": "array", "items": item.json]
            if least > 0 { members["minItems"] = .count(least) }
            return .object(members)
        case .object(let about, let needed, let optional):
            var members: [String: JSON] = [
                "type": "object", "additionalProperties": false,
                "properties": .object(needed.merging(optional) { first, _ in first }.mapValues(\.json)),
            ]
            if !needed.isEmpty { members["required"] = .list(needed.keys.sorted().map(JSON.text)) }
            if !about.isEmpty { members["description"] = .text(about) }
            return .object(members)
        case .map(let value): return ["type": "object", "additionalProperties": value.json]
        case .nullable(let schema): return ["anyOf": [schema.json, ["type": "null"]]]
        case .either(let schemas): return ["anyOf": .list(schemas.map(\.json))]
        case .named(let name): return ["$ref": .text("#/components/schemas/\(name)")]
        }
    }

    /// Whether the text of a query or header parameter has this form.
    func accepts(_ text: String) -> Bool {
        switch self {
        case .bool: text == "true" || text == "false"
        case .integer(let range, _): Int64(text).map { range?.contains($0) ?? true } ?? false
        case .number(let range, _):
            Double(text).map { $0.isFinite && (range?.contains($0) ?? true) && text.utf8.allSatisfy(Self.isOfNumber) } ?? false
        case .choice(let texts, _): texts.contains(text)
        case .text(_, let most): text.unicodeScalars.count <= most ?? .max
        case .list, .object, .map, .nullable, .either, .named: false
        }
    }

    /// What ``accepts(_:)`` wants, in words.
    var wanted: String {
        switch self {
        case .bool: "true or false"
        case .integer(let range, _):
            range.map {
                $0.upperBound == .max ? "a whole number from \($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)"
            }
                ?? "a whole number"
        case .number(let range, _): range.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "a number"
        case .choice(let texts, _): texts.joined(separator: " or ")
        case .text(_, let most): most.map { "a text of at most \($0) characters" } ?? "a text"
        case .list(let item, _): "a list; each item is \(item.wanted)"
        case .object, .map, .named: "a JSON object"
        case .nullable(let schema): schema.wanted + ", or null"
        case .either(let schemas): schemas.map(\.wanted).joined(separator: ", or ")
        }
    }

    /// `Double` also reads hexadecimal numbers and names.
    private static func isOfNumber(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains(byte)
    }
}
