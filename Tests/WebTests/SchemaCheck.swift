import Foundation

/// Compares JSON with the schemas of the interface's own OpenAPI document, as far as these go.
struct SchemaCheck {
    let document: [String: Any]

    /// What is wrong with `value`; empty when it has the form.
    func faults(_ value: Any, _ schema: [String: Any], at place: String = "$") -> [String] {
        if let reference = schema["$ref"] as? String {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            let components = (document["components"] as? [String: Any])?["schemas"] as? [String: Any]
            guard let found = components?[name] as? [String: Any] else { return ["\(place): no schema \(name)"] }
            return faults(value, found, at: place)
        }
        if let any = schema["anyOf"] as? [[String: Any]] {
            return any.contains { faults(value, $0, at: place).isEmpty } ? [] : ["\(place): none of \(any.count) forms"]
        }
        if let choices = schema["enum"] as? [String], !choices.contains(value as? String ?? "") {
            return ["\(place): \(value) is none of \(choices)"]
        }
        switch schema["type"] as? String {
        case "null": return value is NSNull ? [] : ["\(place): not null"]
        case "string": return value is String ? [] : ["\(place): no string"]
        case "boolean": return Self.isBool(value) ? [] : ["\(place): no boolean"]
        case "integer", "number":
            guard let number = value as? NSNumber, !Self.isBool(value) else { return ["\(place): no number"] }
            if schema["type"] as? String == "integer", number.doubleValue.rounded() != number.doubleValue {
                return ["\(place): not whole"]
            }
            if let least = schema["minimum"] as? NSNumber, number.doubleValue < least.doubleValue {
                return ["\(place): too small"]
            }
            return []
        case "array":
            guard let items = value as? [Any] else { return ["\(place): no array"] }
            let item = schema["items"] as? [String: Any] ?? [:]
            return items.enumerated().flatMap { faults($1, item, at: "\(place)[\($0)]") }
        case "object":
            guard let members = value as? [String: Any] else { return ["\(place): no object"] }
            let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
            var found = (schema["required"] as? [String] ?? []).filter { members[$0] == nil }.map { "\(place): no \($0)" }
            for (name, member) in members {
                if let property = properties[name] ?? schema["additionalProperties"] as? [String: Any] {
                    found += faults(member, property, at: "\(place).\(name)")
                } else if schema["additionalProperties"] as? Bool == false {
                    found.append("\(place): \(name) is not in the schema")
                }
            }
            return found
        default: return ["\(place): a schema without a type"]
        }
    }

    /// JSON's true and false come as numbers of a type of their own.
    private static func isBool(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        return String(cString: number.objCType) == "c"
    }
}
