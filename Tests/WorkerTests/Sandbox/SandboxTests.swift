import Endpoint
import Foundation
import Measure
import Media
import TestSupport
import Testing
import Transport
@testable import Worker

/// Streams under the sandbox, on loopback, with real sockets; and what an attacker inside the worker would try.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: AllocationCounting.isPossible, "sanitizers make system calls of their own")) struct SandboxTests
{
    private func send(frames: Int64, to url: String) throws {
        let sink = try Sink(try StreamURL(url))
        try sink.awaitConnection(until: .now() + .seconds(20))
        var configuration = TestSourceConfiguration()
        configuration.size = PictureSize(width: 160, height: 96)
        configuration.frames = frames
        _ = try LiveTestSource(configuration, to: sink).run(stopped: { false }, event: { _ in })
        sink.flush(until: .now() + .seconds(5))
    }

    /// A receiver whose packets nobody reads: the relay sends all the same.
    private func receiver() throws -> (socket: Source, url: String) {
        let socket = try Source(try StreamURL("udp://127.0.0.1:0"))
        return (socket, "udp://127.0.0.1:\(socket.localPort)")
    }

    /// What each attempt must end with, in the order of tools/check/sandbox_attempts.c.
    private static let denials: [(name: Substring, code: Int32)] = [
        ("read-file", EACCES), ("read-folder", EACCES), ("read-memory", EACCES), ("read-environment", EACCES),
        ("write-file", EPERM), ("append-file", EPERM), ("openat2", ENOSYS), ("remove-file", EPERM), ("rename-file", EPERM),
        ("make-folder", EPERM), ("link", EPERM), ("mode", EPERM), ("fork", EPERM), ("clone", EPERM), ("clone3", ENOSYS),
        ("signal-parent", EPERM), ("signal-all", EPERM), ("priority", EPERM), ("dumpable", EPERM), ("local-socket", EPERM),
        ("local-pair", EPERM), ("tcp-socket", EPERM), ("tcp6-socket", EPERM), ("raw-socket", EPERM), ("ping-socket", EPERM),
        ("netlink-socket", EPERM), ("packet-socket", EPERM), ("socket-program", EPERM), ("inherited-tcp", EACCES),
        ("inherited-local", EPERM),
        ("listen", EPERM), ("executable-page", EPERM), ("executable-map", EPERM),
    ]

    /// Whether the kernel can do all of it. Without Landlock the filter denies files, and the numbers differ.
    static let hasLandlock = Sandbox.landlockVersion >= 6

    @Test(.enabled(if: hasLandlock)) func anEncryptedStreamFlowsReconnectsAndShowsPicturesWhileAttemptsFail() throws {
        let receiver = try receiver()
        let key = "latency=20&passphrase=0123456789ab"
        let relay = try SandboxedRelay(input: "srt://127.0.0.1:0?mode=listener&\(key)", output: receiver.url)
        let port = try relay.ports().input
        for _ in 0..<2 {
            try send(frames: 60, to: "srt://127.0.0.1:\(port)?\(key)")
            #expect(relay.line("input: disconnected") != nil)
        }
        let picture = relay.line("jpeg ")
        #expect(picture.flatMap { Int($0.dropFirst(5)) } ?? 0 > 500)
        let end = try relay.end()
        #expect(end.reason == .exit && end.status == 0)
        let words = end.last.split(separator: " ")
        #expect(words.prefix(3) == ["originals", "120", "emitted"] && words.suffix(2) == ["balance", "true"])
        #expect(words.count > 3 && (Int(words[3]) ?? 0) >= 120, "\(end.last)")

        let threads = Set(relay.attempts.map(\.thread))
        #expect(threads.count == 2 && threads.contains("decode") && threads.contains { $0.hasPrefix("SRT:RcvQ") })
        for thread in threads {
            let attempts = relay.attempts.filter { $0.thread == thread }
            #expect(attempts.map(\.name) == Self.denials.map(\.name))
            for (attempt, denial) in zip(attempts, Self.denials) {
                #expect(attempt.code == denial.code, "\(thread): \(attempt.name)")
            }
        }
    }

    @Test(arguments: ["execve", "ptrace", "unshare", "bpf", "init_module", "io_uring_setup", "int80"])
    func aCallThatNoWorkerMakesEndsIt(call: String) throws {
        let receiver = try receiver()
        let relay = try SandboxedRelay(input: "rtp://127.0.0.1:0?latency=30", output: receiver.url, deadly: call)
        try send(frames: 40, to: "rtp://127.0.0.1:\(try relay.ports().input)")
        let end = try relay.end()
        #expect(end.reason == .uncaughtSignal && end.status == SIGSYS, "\(call): \(end.last)")
    }

    /// Its supervisor learns at once what ended it.
    @Test(arguments: [SIGSEGV, SIGABRT, SIGTRAP]) func aCrashEndsItWithItsSignal(signal: Int32) throws {
        let receiver = try receiver()
        let relay = try SandboxedRelay(input: "rtp://127.0.0.1:0", output: receiver.url)
        _ = try relay.ports()
        relay.send(signal: signal)
        let end = try relay.end()
        #expect(end.reason == .uncaughtSignal && end.status == signal, "\(end.last)")
    }

    @Test func plainStreamsFlow() throws {
        let receiver = try Source(try StreamURL("rtp://127.0.0.1:0?latency=30"))
        let relay = try SandboxedRelay(
            input: "udp://127.0.0.1:0", output: "rtp://127.0.0.1:\(receiver.localPort)")
        try send(frames: 40, to: "udp://127.0.0.1:\(try relay.ports().input)")
        #expect(relay.line("picture") != nil)
        let end = try relay.end()
        #expect(end.reason == .exit && end.status == 0 && end.last.hasSuffix("balance true"), "\(end.last)")
    }

    /// The relay calls out from its own socket.
    @Test func aCallerConnects() throws {
        let receiver = try Source(try StreamURL("srt://127.0.0.1:0?mode=listener&latency=20"))
        let relay = try SandboxedRelay(
            input: "udp://127.0.0.1:0", output: "srt://127.0.0.1:\(receiver.localPort)?latency=20")
        #expect(relay.line("output: connected") != nil)
        let end = try relay.end()
        #expect(end.reason == .exit && end.status == 0, "\(end.last)")
    }

    /// This process has many threads, of which Landlock would hold one.
    @Test func aProcessWithThreadsIsRefused() {
        #expect(throws: SandboxFault(step: .threads, code: 0)) { try Sandbox.enter() }
    }

    @Test(arguments: [(0, "no Landlock"), (2, "version 2 of 6"), (6, nil), (7, nil)] as [(Int, String?)])
    func whatIsMissingIsSaid(version: Int, text: String?) throws {
        let missing = Sandbox.Protection(landlock: version).missing
        #expect((missing == nil) == (text == nil))
        if let text { #expect(try #require(missing).contains(text)) }
    }
}
