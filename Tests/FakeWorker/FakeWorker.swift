import Foundation
import Media
import WorkerProtocol

/// A worker without a relay. It behaves well, or as badly as its streams' names say (`garbage-1` sends garbage): so a test
/// chooses what the supervisor has to stand.
@main struct FakeWorker {
    /// A stream's name up to its first hyphen.
    enum Behaviour: String {
        /// Ends with SIGSEGV when it is started.
        case crash
        /// Ends with exit code 70 when it is started.
        case exit
        /// Ends with a lot of text on standard error.
        case shout
        /// Does not answer any more, and ignores `end`.
        case hang
        /// Says that a stage stands still.
        case stall
        /// Sends bytes that are no message.
        case garbage
        /// Says hello a second time.
        case hello
        /// Closes its channel and lives on.
        case deaf
        /// Starts a process of its own, then waits.
        case parent
        /// Asks for names, and says in an event what it was told.
        case resolve
        /// Says in an event which descriptors it has.
        case descriptors
        /// Refuses every call.
        case refuse
        /// Does not answer offers.
        case silent
        /// Ends every call as soon as it has begun.
        case brief
        /// The stream ends at once: with code 69, which is tried again, or with 78, which is not.
        case unavailable, misconfigured
        /// Nobody answers at the first output.
        case unreachable
        /// Asks for files to record into.
        case record
    }

    private let channel: WorkerChannel
    private var isHanging = false
    private var stalled: [String] = []
    private var sockets: [String: Int32] = [:]
    private var received: [PassedDescriptor] = []
    /// The calls that it has answered, with their streams.
    private var viewers: [(id: UInt64, stream: String)] = []

    static func main() {
        if CommandLine.arguments.dropFirst().first == "deferred" { makeLater(CommandLine.arguments) }
        guard CommandLine.arguments.dropFirst() == ["worker", "--control-descriptor", "3"] else { exit(64) }
        switch ProcessInfo.processInfo.environment["BURNISH_FAKE_WORKER"] {
        case "mute": while true { pause() }
        case "dead": exit(1)
        case "version": try! WorkerChannel(owning: 3).send(.hello(version: 999)); pause()
        default: break
        }
        var worker = FakeWorker(channel: try! WorkerChannel(owning: 3))
        worker.run()
    }

    init(channel: WorkerChannel) { self.channel = channel }

    private mutating func run() {
        channel.send(.hello(version: MessageCoding.version))
        while let arrival = channel.receive(until: nil) {
            guard case .message(let message, let descriptors) = arrival else { exit(0) }
            handle(message, descriptors)
        }
    }

    private mutating func handle(_ message: SupervisorMessage, _ descriptors: [PassedDescriptor]) {
        if isHanging { return }
        switch message {
        case .hello(let version): if version != MessageCoding.version { exit(70) }
        case .start(let assignment): start(assignment, descriptors)
        case .stop(let stream):
            sockets.removeValue(forKey: stream).map { _ = close($0) }
            channel.send(.ended(stream: stream, code: 0, reason: "stopped"))
        case .change(let id, _, let settings):
            let lacksTable = (settings["lut"] ?? nil) != nil && descriptors.count != 1
            channel.send(
                .changed(id: id, fault: settings["sharpness"] == "refused" ? "it is refused" : lacksTable ? "no table" : nil))
        case .resolved(_, let addresses, let fault):
            channel.send(.event(stream: "resolve-1", StreamEvent(.message, "resolved \(addresses) \(fault ?? "")")))
        case .listCallers(let id, let stream):
            let caller = Caller(id: 7, leg: .input, peer: "192.0.2.1:4711", streamID: "x", connectedAt: 0)
            let viewer = Caller(
                id: Caller.firstCall | 5, leg: .output, transport: .whep, peer: "192.0.2.2:4712", streamID: "", connectedAt: 0)
            channel.send(.callers(id: id, [caller], isLast: false))
            let answered = viewers.filter { $0.stream == stream }.map { call in
                Caller(
                    id: Caller.firstCall | call.id, leg: .output, transport: .whep, peer: "192.0.2.3:1", streamID: "",
                    connectedAt: 0)
            }
            channel.send(.callers(id: id, [viewer] + answered, isLast: true))
        case .kick(let stream, let caller, _):
            channel.send(.event(stream: stream, StreamEvent(.inputDown, "caller \(caller) was disconnected")))
        case .showPicture(let id, _, let side, _): show(id, side, descriptors)
        case .showPast(let id, _, let side, let place, _, _, let keeps): show(id, side, place, descriptors, keepsUnits: keeps)
        case .cutClip(let id, _, let from, let to, _, let ofInput): cut(id, from, to, descriptors, ofInput ? "units" : "clip")
        case .react(let id, _, let reaction): channel.send(.changed(id: id, fault: reaction.x > 0.9 ? "it is refused" : nil))
        case .offer(let id, let stream, let side, let description, _, _, _): answer(id, stream, side, description)
        case .restartCall(let id, let call, let userFragment, _):
            channel.send(.answered(id: id, description: "a=ice-ufrag:\(userFragment)-\(call)\r\n"))
        case .chooseLayer(let call, let layer):
            let text = "call \(call) chooses \(layer?.rawValue ?? "auto")"
            channel.send(.event(stream: sockets.keys.sorted()[0], StreamEvent(.message, text)))
        case .hangUp(let id):
            channel.send(.event(stream: sockets.keys.sorted()[0], StreamEvent(.message, "call \(id) hung up")))
        case .ping(let id): channel.send(.alive(id: id, stalled: stalled))
        case .end:
            for stream in sockets.keys { channel.send(.ended(stream: stream, code: 0, reason: "stopped")) }
            exit(0)
        case .recording(let id, let stream, let path, let fault): record(id, stream, path, fault, descriptors)
        case .share: break
        }
    }

    private mutating func start(_ assignment: WorkerAssignment, _ descriptors: [PassedDescriptor]) {
        let stream = assignment.stream
        received += descriptors
        let port = bind(stream)
        channel.send(.started(stream: stream, inputPort: port, outputPorts: assignment.outputs.map { _ in 0 }))
        switch Behaviour(rawValue: String(stream.prefix { $0 != "-" })) {
        case nil, .refuse, .silent, .brief: channel.send(.troubles(stream: stream, []))
        case .crash: kill(getpid(), SIGSEGV)
        case .exit:
            FileHandle.standardError.write(Data("fatal error: it must end\n".utf8))
            exit(70)
        case .shout:
            for line in 0..<5000 { FileHandle.standardError.write(Data("line \(line)\n".utf8)) }
            exit(70)
        case .hang: isHanging = true
        case .stall: stalled = ["\(stream)/decode"]
        case .garbage: [UInt8](repeating: 0xA5, count: 300).withUnsafeBytes { _ = send(3, $0.baseAddress, $0.count, 0) }
        case .hello: channel.send(.hello(version: MessageCoding.version))
        case .deaf:
            close(3)
            while true { pause() }
        case .parent:
            // Not by Foundation, which puts it into another process group.
            var child: pid_t = 0
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("1000"), nil]
            posix_spawn(&child, "/bin/sleep", nil, nil, &arguments, nil)
            channel.send(.event(stream: stream, StreamEvent(.message, "child \(child)")))
        case .resolve:
            channel.send(.resolve(id: 1, host: "localhost", port: 9000))
            channel.send(.resolve(id: 2, host: "not-of-this-stream.example", port: 9000))
        case .descriptors:
            let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let names = all.compactMap { number -> String? in
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"),
                    !target.contains("/fd")
                else { return nil }
                return "\(number)=\(target.prefix { $0 != ":" })"
            }
            channel.send(.event(stream: stream, StreamEvent(.message, names.sorted().joined(separator: " "))))
        case .unavailable: channel.send(.ended(stream: stream, code: 69, reason: "the port is in use"))
        case .unreachable:
            channel.send(.troubles(stream: stream, [StreamTrouble(output: 0, .unreachable, "srt://h:1: nobody answers there")]))
        case .record: channel.send(.wantsRecording(id: 1, stream: stream))
        case .misconfigured: channel.send(.ended(stream: stream, code: 78, reason: "it cannot be so"))
        }
    }

    private mutating func answer(_ id: UInt64, _ stream: String, _ side: CallSide, _ description: String) {
        switch Behaviour(rawValue: String(stream.prefix { $0 != "-" })) {
        case .silent: break
        case .refuse: channel.send(.refusedCall(id: id, CallRefusal(.unacceptable, "there is no codec that both know")))
        default:
            channel.send(.answered(id: id, description: "v=0\r\ns=\(stream) \(side) \(description.utf8.count)\r\n"))
            if side == .play { viewers.append((id, stream)) }
            if stream.hasPrefix("brief") { channel.send(.endedCall(id: id)) }
        }
    }

    /// A socket for each stream, so that ports are in use until the process has gone.
    private mutating func bind(_ stream: String) -> UInt16 {
        let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.bind(number, $0, length)
                getsockname(number, $0, &length)
            }
        }
        sockets[stream] = number
        return UInt16(bigEndian: address.sin_port)
    }

    /// Cuts at once, but for clips of more than an hour, which it never ends.
    private func cut(_ id: UInt64, _ from: Int64, _ to: Int64, _ descriptors: [PassedDescriptor], _ text: String) {
        guard let file = descriptors.first, from < to else {
            channel.send(.refusedPast(id: id, PastRefusal(.conflict, "the clip ends before it begins")))
            return
        }
        channel.send(.clipBegun(id: id))
        guard to - from < 3_600_000_000_000 else { return }
        let fault = Array(text.utf8).withUnsafeBytes { file.write($0, at: 0) }
        if let fault {
            channel.send(.refusedPast(id: id, PastRefusal(.conflict, fault)))
        } else {
            channel.send(.clip(id: id, byteCount: 4, pictures: 1, seconds: 2))
        }
    }

    /// Writes a line into the file, and says what came. Asks for another after the first.
    private func record(_ id: UInt64, _ stream: String, _ path: String, _ fault: String?, _ descriptors: [PassedDescriptor]) {
        let failed = descriptors.first.map { file in Array("recording \(id)".utf8).withUnsafeBytes { file.write($0, at: 0) } }
        let text = fault ?? (failed == .some(nil) ? "wrote \(path)" : "wrote nothing")
        channel.send(.event(stream: stream, StreamEvent(.recording, text)))
        if id < 2 { channel.send(.wantsRecording(id: id + 1, stream: stream)) }
    }

    /// Has no frame but 48.
    private func show(
        _ id: UInt64, _ side: PictureSide, _ place: StillPlace, _ descriptors: [PassedDescriptor], keepsUnits: Bool
    ) {
        if keepsUnits { _ = descriptors[1].write(Array("units".utf8)) }
        guard let file = descriptors.first, place == .frame(48) else {
            channel.send(.refusedPast(id: id, PastRefusal(.missing, "it has left")))
            return
        }
        let fault = file.write([0xFF, 0xD8, side == .before ? 0 : 1])
        channel.send(.still(id: id, byteCount: fault == nil ? 3 : 0, frame: 48))
    }

    /// Makes `final` of the units `units`, as its environment says: at once, never, or not at all.
    private static func makeLater(_ arguments: [String]) -> Never {
        func value(_ name: String) -> String { arguments.firstIndex(of: name).map { arguments[$0 + 1] } ?? "" }
        switch ProcessInfo.processInfo.environment["BURNISH_FAKE_DEFERRED"] {
        case "never": while true { pause() }
        case "fails":
            FileHandle.standardError.write(Data("it is no picture\n".utf8))
            exit(65)
        default: break
        }
        guard let file = FileManager.default.contents(atPath: value("--job")), let read = DeferredJob.read(Array(file)),
            file.prefix(read.contents).elementsEqual(Data("units".utf8)),
            FileManager.default.createFile(atPath: value("--output"), contents: Data("final".utf8))
        else { exit(65) }
        exit(0)
    }

    private func show(_ id: UInt64, _ side: PictureSide, _ descriptors: [PassedDescriptor]) {
        guard let file = descriptors.first else { return }
        let bytes: [UInt8] = [0xFF, 0xD8, side == .before ? 0 : 1, 0xFF, 0xD9]
        _ = bytes.withUnsafeBytes { pwrite(file.number, $0.baseAddress, $0.count, 0) }
        channel.send(.picture(id: id, byteCount: bytes.count, fault: nil))
    }
}
