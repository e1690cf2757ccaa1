import ServiceConfiguration
import Settings

// Hummingbird has a `RequestBody` too, so this file does not import it.

/// Settings in the body of a request.
enum SettingsBody {
    /// As text; nil is the default.
    static func texts(_ settings: JSON) throws(Problem) -> [String: String?] {
        do { return try RequestBody.texts(json: settings.bytes) } catch {
            throw Problem(.invalid, key: error.key.isEmpty ? "settings" : error.key, error.text)
        }
    }
}
