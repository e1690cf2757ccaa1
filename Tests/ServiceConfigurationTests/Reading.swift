@testable import ServiceConfiguration

/// Files that exist only in a test.
func environment(
    _ files: [String: String] = [:], variables: [String: String] = [:], folder: String = "/etc/burnish"
) -> ConfigurationEnvironment {
    ConfigurationEnvironment(variables: variables, folder: folder) {
        (path, limit) throws(ConfigurationEnvironment.ReadFailure) in
        guard let text = files[path] else { throw ConfigurationEnvironment.ReadFailure("cannot be read: No such file") }
        guard text.utf8.count <= limit else { throw ConfigurationEnvironment.ReadFailure("has more than \(limit) bytes") }
        return Array(text.utf8)
    }
}

/// The lines that a configuration's faults are printed as.
func faults(_ text: String, _ environment: ConfigurationEnvironment = environment()) -> [String] {
    do throws(ConfigurationFaults) {
        _ = try ServiceConfiguration(text, environment: environment)
        return []
    } catch {
        return error.lines(in: "f")
    }
}
