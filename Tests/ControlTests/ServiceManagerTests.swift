import Foundation
import Media
import TestSupport
import Testing

@testable import Control

/// Against a real notify socket.
@Suite struct ServiceManagerTests {
    @Test(arguments: [false, true]) func itSaysHowTheServiceIs(isAbstract: Bool) throws {
        let socket = try NotifySocket(isAbstract: isAbstract)
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": socket.name])
        manager.isReady(status: "2 streams\nflow")
        #expect(socket.next() == "READY=1\nSTATUS=2 streams flow")
        let before = MonotonicTime.now().nanoseconds / 1000
        manager.isReloading()
        let said = try #require(socket.next())
        let stamp = try #require(said.split(separator: "=").last.flatMap { Int64($0) })
        #expect(said == "RELOADING=1\nMONOTONIC_USEC=\(stamp)")
        #expect(stamp >= before && stamp <= MonotonicTime.now().nanoseconds / 1000)
        manager.isAlive()
        #expect(socket.next() == "WATCHDOG=1")
        manager.status("all flow")
        #expect(socket.next() == "STATUS=all flow")
        manager.isStopping()
        #expect(socket.next() == "STOPPING=1")
        #expect(socket.next() == nil)
    }

    @Test(arguments: [nil, "", "@", "relative", "/" + String(repeating: "x", count: 107), "/nowhere/at/all"] as [String?])
    func itDoesNothingWithoutASocket(name: String?) {
        let manager = ServiceManager(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:])
        manager.isReady(status: "x")
        manager.isAlive()
    }

    @Test func aSocketThatIsFullIsNotWaitedFor() throws {
        let socket = try NotifySocket(isAbstract: false)
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": socket.name])
        for _ in 0..<10_000 { manager.isAlive() }
        #expect(socket.next() == "WATCHDOG=1")
    }

    @Test func theWatchdogIsForTheProcessThatItNames() {
        func interval(_ more: [String: String]) -> Nanoseconds? {
            ServiceManager(environment: ["NOTIFY_SOCKET": "/x/y"].merging(more) { $1 }, process: 42).watchdogInterval
        }
        #expect(interval([:]) == nil)
        #expect(interval(["WATCHDOG_USEC": "10000000"]) == .seconds(5))
        #expect(interval(["WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "42"]) == .seconds(5))
        #expect(interval(["WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "-1"]) == nil && interval(["WATCHDOG_USEC": "x"]) == nil)
    }
}

/// What systemd would have bound.
final class NotifySocket: Sendable {
    let number: Int32
    private let folder: Folder
    let name: String

    init(isAbstract: Bool) throws {
        folder = try Folder()
        name = isAbstract ? "@burnish-\(UUID())" : folder.file("notify").path
        number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: bytes)
            if isAbstract { $0[0] = 0 }
        }
        let length = socklen_t(2 + bytes.count)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        try #require(code == 0)
    }

    deinit { close(number) }

    func next() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(number, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Waits for a message that begins so.
    func wait(for start: String) async -> String? {
        while true {
            while let message = next() { if message.hasPrefix(start) { return message } }
            await Task.yield()
        }
    }
}

/// A folder that goes away with the value. Several tasks may have it.
final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID())").path(percentEncoded: false)

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> URL { URL(filePath: path + "/" + name) }
}
