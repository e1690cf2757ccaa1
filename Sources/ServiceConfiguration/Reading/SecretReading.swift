import Endpoint
import Settings

/// Where a secret may stand: in the configuration, in a file, or in a systemd credential.
struct SecretReading {
    static let suffixes = ["", "-file", "-credential"]
    private static let largest = 4096

    /// The key without a suffix.
    let key: String
    /// How many bytes the secret may have.
    let sizes: ClosedRange<Int>
    let environment: ConfigurationEnvironment

    /// Reads a secret. What is wrong with it is said without showing it.
    /// - Parameters:
    ///   - name: ``key`` with one of the ``suffixes``.
    ///   - text: the value of that key.
    func secret(key name: String, text: String) throws(SettingFault) -> Secret {
        let secret: String
        switch name {
        case key: secret = text
        case key + "-file":
            guard text.isUsablePath else { throw SettingFault(name, "is the path of a file, not \(text.excerpt)") }
            secret = try line(of: environment.absolute(text), name)
        default:
            guard text.isUsablePath, !text.contains("/"), text != ".", text != ".." else {
                throw SettingFault(name, "is the name of a systemd credential, without slashes")
            }
            guard let folder = environment.variables["CREDENTIALS_DIRECTORY"], !folder.isEmpty else {
                let remedy = "run the service by a systemd unit with LoadCredential=\(text.excerpt):FILE"
                throw SettingFault(name, "names a systemd credential, and there are none here: \(remedy)")
            }
            secret = try line(of: folder + "/" + text, name)
        }
        guard sizes.contains(secret.utf8.count) else {
            throw SettingFault(name, "has \(secret.utf8.count) bytes; \(sizes.lowerBound) to \(sizes.upperBound) are allowed")
        }
        guard !secret.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw SettingFault(name, "holds a line break or another control character: it is one line of text")
        }
        return Secret(secret)
    }

    /// Reads a secret that travels in an HTTP header.
    func token(key name: String, text: String) throws(SettingFault) -> Secret {
        let token = try secret(key: name, text: text)
        guard token.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SettingFault(name, "holds a space or a letter beyond ASCII: use letters, digits and signs")
        }
        return token
    }

    private func line(of path: String, _ name: String) throws(SettingFault) -> String {
        let bytes: [UInt8]
        do throws(ConfigurationEnvironment.ReadFailure) {
            bytes = try environment.read(path, Self.largest)
        } catch {
            throw SettingFault(name, "\(path.excerpt) \(error.text)")
        }
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw SettingFault(name, "\(path.excerpt) is no UTF-8 text")
        }
        if text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
