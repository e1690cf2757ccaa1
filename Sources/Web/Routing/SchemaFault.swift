extension Schema {
    /// Why JSON does not have this form: the key that is meant (empty for the whole), and what it wants. Nil when it has it.
    ///
    /// Patterns are for clients: whoever reads the value checks it.
    func fault(in json: JSON, _ key: String = "", named schemas: [String: Schema]) -> Problem? {
        func wants(_ text: String) -> Problem {
            Problem(.invalid, key: key.isEmpty ? nil : key, "\(key.isEmpty ? "the body" : key) is \(text)")
        }
        switch (self, json) {
        case (.bool, .bool): return nil
        case (.integer(let range, _), .integer(let value)):
            return range?.contains(value) ?? true ? nil : wants(wanted)
        case (.number(let range, _), .integer(let value)):
            return range?.contains(Double(value)) ?? true ? nil : wants(wanted)
        case (.number(let range, _), .number(let value)):
            return range?.contains(value) ?? true ? nil : wants(wanted)
        case (.text(_, let most), .text(let text)):
            return text.unicodeScalars.count <= most ?? .max ? nil : wants(wanted)
        case (.choice(let texts, _), .text(let text)): return texts.contains(text) ? nil : wants(wanted)
        case (.list(let item, let least), .list(let items)):
            if items.count < least { return wants("a list of at least \(least)") }
            for each in items { if let fault = item.fault(in: each, key, named: schemas) { return fault } }
            return nil
        case (.object(_, let needed, let optional), .object(let members)):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                guard let schema = needed[name] ?? optional[name] else {
                    let known = (Array(needed.keys) + Array(optional.keys)).sorted().joined(separator: ", ")
                    return Problem(.invalid, key: Self.shortened(name), "there is no such key; there are \(known)")
                }
                if let fault = schema.fault(in: member, name, named: schemas) { return fault }
            }
            guard let missing = needed.keys.sorted().first(where: { members[$0] == nil }) else { return nil }
            return Problem(.invalid, key: missing, "\(missing) is missing")
        case (.map(let value), .object(let members)):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                if let fault = value.fault(in: member, name, named: schemas) { return fault }
            }
            return nil
        case (.nullable, .null): return nil
        case (.nullable(let schema), _): return schema.fault(in: json, key, named: schemas)
        case (.either(let forms), _):
            return forms.contains { $0.fault(in: json, key, named: schemas) == nil } ? nil : wants(wanted)
        case (.named(let name), _): return schemas[name]?.fault(in: json, key, named: schemas)
        default: return wants(wanted)
        }
    }

    /// A key of a caller, for an answer.
    private static func shortened(_ key: String) -> String { String(key.prefix(64)) }
}
