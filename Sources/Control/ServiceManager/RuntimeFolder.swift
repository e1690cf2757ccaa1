import Foundation
import Telemetry

/// The folder of a running service: its control socket, and links to the telemetry maps of its streams. One service at a time
/// has it.
public final class RuntimeFolder: Sendable {
    public struct Fault: Error, CustomStringConvertible {
        public var description: String
    }

    public let path: String
    let socket: ControlSocket.Listener

    /// Makes the folder if it is not there, for this user alone, and its control socket. Takes away what a service that was
    /// killed left there.
    /// - Throws: where the folder cannot be written, or another service has it.
    public init(_ path: String) throws(Fault) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Fault(description: "\(path) cannot be made: \(error.localizedDescription)")
        }
        do throws(ControlSocket.Fault) {
            socket = try ControlSocket.Listener(path: Self.controlSocket(in: path))
        } catch {
            throw Fault(description: error.description)
        }
        for stream in TelemetryMap.Place.streams(in: path) { withdraw(stream) }
    }

    /// Where the service of a folder listens (``ControlSocket``).
    public static func controlSocket(in folder: String) -> String { folder + "/control" }

    /// Makes a stream's map known to `burnish top` and `burnish records`.
    /// - Returns: why that is not possible; nil where it is done.
    func publish(_ stream: String, map: Int32) -> String? {
        withdraw(stream)
        let link = TelemetryMap.Place.link(to: stream, in: path)
        let target = TelemetryMap.Place.target(process: getpid(), descriptor: map)
        return unsafe symlink(target, link) == 0 ? nil : "\(link): \(unsafe String(cString: strerror(errno)))"
    }

    func withdraw(_ stream: String) { unsafe unlink(TelemetryMap.Place.link(to: stream, in: path)) }
}
