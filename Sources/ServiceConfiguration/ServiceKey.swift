import Settings

/// One key of the configuration outside of its streams: its place, what it means, and how it is read.
public struct ServiceKey: Sendable {
    /// When a new value takes hold after a reload.
    public enum Change: String, Sendable, CaseIterable {
        case live
        /// When the service is started again. A reload says so.
        case restart
    }

    enum Reading: Sendable {
        /// From one text; false if it is not allowed.
        case text(@Sendable (String, ConfigurationEnvironment, inout ServiceConfiguration) -> Bool)
        /// From a list of texts, each of which is judged for itself, or from one.
        case list(@Sendable (String, ConfigurationEnvironment, inout ServiceConfiguration) -> Bool)
        /// A secret, or where it is: ``SecretReading`` reads it.
        case secret
    }

    /// The section; empty for a key at the top.
    public let section: String
    public let name: String
    public let help: String
    /// Which values are allowed: "1 to 64".
    public let allowed: String
    /// The default as text; empty where there is none.
    public let defaultText: String
    public let change: Change
    /// The text that `configs/burnish.yaml` has for a key without a default.
    public let example: String
    let reading: Reading
    /// The value of a configuration as text, for comparisons. A secret is compared elsewhere.
    let show: @Sendable (ServiceConfiguration) -> [String]

    /// With its section: `http.port`.
    public var path: String { section.isEmpty ? name : "\(section).\(name)" }
    public var isList: Bool { if case .list = reading { true } else { false } }
    public var isSecret: Bool { if case .secret = reading { true } else { false } }
}

extension ServiceKey {
    typealias Path<Value> = any WritableKeyPath<ServiceConfiguration, Value> & Sendable

    static func integer(
        _ section: String, _ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>, _ change: Change, help: String
    ) -> ServiceKey {
        ServiceKey(
            section: section, name: name, help: help, allowed: "\(range.lowerBound) to \(range.upperBound)",
            defaultText: "\(ServiceConfiguration()[keyPath: path])", change: change, example: "",
            reading: .text { text, _, configuration in
                guard let number = Int(text), range.contains(number) else { return false }
                configuration[keyPath: path] = number
                return true
            }, show: { ["\($0[keyPath: path])"] })
    }

    static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ section: String, _ name: String, _ path: Path<Value>, _ change: Change, help: String
    ) -> ServiceKey {
        let names = Value.allCases.map(\.rawValue)
        return ServiceKey(
            section: section, name: name, help: help,
            allowed: names.dropLast().joined(separator: ", ") + " or " + (names.last ?? ""),
            defaultText: ServiceConfiguration()[keyPath: path].rawValue, change: change, example: "",
            reading: .text { text, _, configuration in
                guard let value = Value(rawValue: text) else { return false }
                configuration[keyPath: path] = value
                return true
            }, show: { [$0[keyPath: path].rawValue] })
    }

    static func flag(
        _ section: String, _ name: String, _ path: Path<Bool>, _ change: Change, help: String
    ) -> ServiceKey {
        ServiceKey(
            section: section, name: name, help: help, allowed: "true or false",
            defaultText: "\(ServiceConfiguration()[keyPath: path])", change: change, example: "",
            reading: .text { text, _, configuration in
                guard let value = Bool(text) else { return false }
                configuration[keyPath: path] = value
                return true
            }, show: { ["\($0[keyPath: path])"] })
    }

    /// A file or folder; a relative one begins at the folder of the configuration file.
    static func path(
        _ section: String, _ name: String, _ path: Path<String?>, _ change: Change, allowed: String, example: String,
        help: String
    ) -> ServiceKey {
        ServiceKey(
            section: section, name: name, help: help, allowed: allowed, defaultText: "", change: change, example: example,
            reading: .text { text, environment, configuration in
                guard text.isUsablePath else { return false }
                configuration[keyPath: path] = environment.absolute(text)
                return true
            }, show: { $0[keyPath: path].map { [$0] } ?? [] })
    }

    static func list(
        _ section: String, _ name: String, _ path: Path<[String]>, _ change: Change, allowed: String, example: String,
        help: String, read: @escaping @Sendable (String, ConfigurationEnvironment) -> String?
    ) -> ServiceKey {
        ServiceKey(
            section: section, name: name, help: help, allowed: allowed, defaultText: "[]", change: change, example: example,
            reading: .list { text, environment, configuration in
                guard let value = read(text, environment) else { return false }
                if !configuration[keyPath: path].contains(value) { configuration[keyPath: path].append(value) }
                return true
            }, show: { $0[keyPath: path] })
    }

    static func secret(_ section: String, _ name: String, allowed: String, example: String, help: String) -> ServiceKey {
        ServiceKey(
            section: section, name: name, help: help, allowed: allowed, defaultText: "", change: .live, example: example,
            reading: .secret, show: { _ in [] })
    }
}

extension String {
    var isUsablePath: Bool { !isEmpty && utf8.count <= 4096 && !utf8.contains(0) }
}
