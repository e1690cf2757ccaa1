import Endpoint
import Foundation
import Media
import Testing
@testable import Packets
@testable import Transport

struct DatagramAndFileTests {
    @Test(arguments: ["127.0.0.1", "[::1]"]) func datagrams(host: String) throws {
        let reader = try Reader("udp://\(host):0")
        let sink = try Sink(StreamURL("udp://\(host):\(reader.source.localPort)"))
        #expect(reader.wait(for: { if case .listening = $0 { true } else { false } }) != nil)
        for i in 0..<100 {
            let before = MonotonicTime.now()
            // Whatever the wall clock does, nothing came before the socket was last found empty.
            #expect(reader.isIdle)
            #expect(sink.send(numbered(i, count: 188 * (1 + i % 7))) == .sent)
            let (message, bytes) = try #require(reader.next())
            #expect(bytes == numbered(i, count: 188 * (1 + i % 7)))
            #expect(message.sequence == Int64(i + 1))
            #expect(message.arrival >= before && message.arrival <= .now())
        }
        #expect(reader.source.statistics().packetsReceived == 100)
        #expect(sink.statistics().packetsSent == 100)
    }

    /// However long nobody read. The kernel stamps by the wall clock, so the test repeats when that was set meanwhile. It begins to stamp a
    /// moment after the machine's first socket asks for it (`net_enable_timestamp` defers that), so the first datagrams may come without.
    @Test func arrivalIsWhenTheKernelGotIt() throws {
        func ahead() -> Int64 {
            var wall = timespec()
            clock_gettime(CLOCK_REALTIME, &wall)
            return Int64(wall.tv_sec) * 1_000_000_000 + Int64(wall.tv_nsec) - MonotonicTime.now().nanoseconds
        }
        let reader = try Reader("udp://127.0.0.1:0")
        let sink = try Sink(StreamURL("udp://127.0.0.1:\(reader.source.localPort)"))
        var isStamped = false
        for attempt in 1...5 where !isStamped {
            let before = ahead()
            #expect(sink.send(numbered(attempt)) == .sent)
            let sent = MonotonicTime.now()
            (sent + .milliseconds(1_100)).sleep()
            let (message, bytes) = try #require(reader.next())
            #expect(number(of: bytes) == attempt)
            guard abs(ahead() - before) < 5_000_000 else { continue }
            isStamped = message.arrival < sent + .milliseconds(10)
        }
        #expect(isStamped)
    }

    /// What the wall clock says of an age, and what it can have been.
    @Test(
        arguments: [
            (0, 1_000), (1, 999), (400, 600), (500, 500), (501, 500), (3_600_000_000_000, 500), (-1, 1_000), (.min, 1_000),
            (.max, 500),
        ] as [(Int64, Int64)])
    func arrivalsLieWithinBounds(age: Int64, arrival: Int64) {
        let found = DatagramSocket.arrival(
            age: age, now: MonotonicTime(nanoseconds: 1_000), earliest: MonotonicTime(nanoseconds: 500))
        #expect(found == MonotonicTime(nanoseconds: arrival))
    }

    /// Empty datagrams are nothing to tell, and do not keep the reader's thread, which may have been called.
    @Test(arguments: [true, false]) func aFloodDoesNotHoldTheReader(isCalled: Bool) throws {
        let reader = try Reader("udp://127.0.0.1:0")
        #expect(reader.wait(for: { if case .listening = $0 { true } else { false } }) != nil)
        let address = try SocketAddress.resolve(host: "127.0.0.1", port: reader.source.localPort, place: "here")
        let sender = try DatagramSocket(sendingTo: address, place: "here")
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        for _ in 0..<150 {
            let sent = sender.send(nothing, nothing)
            #expect(sent == .sent)
        }
        numbered(1).withUnsafeBytes { _ = sender.send(nothing, $0) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        var looks = 0
        while looks < 10 {
            if isCalled { reader.source.interrupt() }
            // An hour, if it were not called.
            let limit = MonotonicTime.now() + .seconds(isCalled ? 3_600 : 0)
            guard case .idle = reader.source.receive(into: buffer, until: limit) else { break }
            looks += 1
        }
        #expect(looks == 2 && reader.source.statistics().packetsReceived == 1)
    }

    @Test func interruptEndsAWait() throws {
        for url in ["udp://127.0.0.1:0", "srt://127.0.0.1:0?mode=listener"] {
            let reader = try Reader(url)
            let source = reader.source
            #expect(reader.wait(for: { if case .listening = $0 { true } else { false } }) != nil)
            let other = StageThread(name: "other") { source.interrupt() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
            defer { buffer.deallocate() }
            // An hour: this returns because it was interrupted, or the test hangs.
            #expect(source.receive(into: buffer, until: .now() + .seconds(3600)) == .idle)
            other.join()
        }
    }

    @Test func filesThereAndBack() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID()).ts").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let whole: [UInt8] = Array((0..<50).map { numbered($0) }.joined()) + [1, 2, 3]
        do {
            let sink = try Sink(StreamURL(path))
            for start in stride(from: 0, to: whole.count, by: 1316) {
                #expect(sink.send(Array(whole[start..<min(start + 1316, whole.count)])) == .sent)
            }
        }
        let reader = try Reader(path)
        var read: [UInt8] = []
        while let (_, bytes) = reader.next() { read += bytes }
        #expect(read == whole)
        #expect(reader.next() == nil)
    }

    @Test func missingFilesAreToldApart() {
        let absent = #expect(throws: TransportError.self) { _ = try Source(StreamURL("/proc/nowhere/a.ts")) }
        #expect(absent?.code == .inaccessible)
        let forbidden = #expect(throws: TransportError.self) { _ = try Sink(StreamURL("/proc/nowhere/a.ts")) }
        #expect(forbidden?.code == .inaccessible)
        let nowhere = #expect(throws: TransportError.self) { _ = try Sink(StreamURL("udp://:1234")) }
        #expect(nowhere?.code == .badURL)
        let unnamed = #expect(throws: TransportError.self) { _ = try Source(StreamURL("udp://host.invalid:1234")) }
        #expect(unnamed?.code == .unresolvable)
    }

    /// The kernel refuses to read the process's memory at address 0, as it does a bad sector.
    @Test func aFileThatCannotBeReadHasNotEnded() throws {
        let source = try Source(StreamURL("/proc/self/mem"))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
        defer { buffer.deallocate() }
        for _ in 0..<2 {
            guard case .failed(let error) = source.receive(into: buffer, until: .now() + Reader.timeout) else {
                Issue.record("no failure")
                return
            }
            #expect(error.code == .inaccessible && "\(error)" == "/proc/self/mem: cannot be read on: Input/output error")
        }
    }

    @Test func aDirectoryIsNoInput() throws {
        let error = #expect(throws: TransportError.self) { _ = try Source(StreamURL("/tmp")) }
        #expect(error?.code == .inaccessible && error?.message.hasPrefix("is a directory") == true)
    }

    @Test func aClosedPipeIsToldOnce() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID()).pipe").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(mkfifo(path, 0o600) == 0)
        let end = open(path, O_RDONLY | O_NONBLOCK)
        let sink = try Sink(StreamURL(path))
        #expect(sink.send(numbered(0)) == .sent)
        #expect(sink.isConnected && !sink.isBroken && sink.nextEvent() == nil)
        close(end)
        for _ in 0..<3 { #expect(sink.send(numbered(1)) == .notConnected) }
        #expect(sink.isBroken && !sink.isConnected && !sink.statistics().isConnected)
        #expect(sink.nextEvent() == .disconnected(reason: "Broken pipe"))
        #expect(sink.nextEvent() == nil)
    }

    /// It must not hold up the start: the other outputs would wait for it.
    @Test func aPipeWithoutAReaderIsNotConnected() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID()).pipe").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(mkfifo(path, 0o600) == 0)
        let sink = try Sink(StreamURL(path))
        #expect(!sink.isConnected && !sink.isBroken && sink.connection(at: 0) == nil)
        #expect(sink.send(numbered(0)) == .notConnected)
        #expect(!sink.isBroken && sink.statistics().connections == 0)
        let late = #expect(throws: TransportError.self) { try sink.awaitConnection(until: .now()) }
        #expect(late?.code == .unreachable && late?.message == "nobody reads the pipe")
        let reader = try Reader(path)
        #expect(sink.isConnected && sink.connection(at: 0) != nil && sink.statistics().connections == 1)
        #expect(sink.nextEvent() == .connected(Connection(peer: "a reader of the pipe")))
        try sink.awaitConnection(until: .now())
        #expect(sink.send(numbered(1)) == .sent)
        #expect(reader.next()?.bytes == numbered(1))
    }

    /// A disk that stands still: what waits in the queue is not sent, and the end does not wait for it for ever.
    @Test func whatADiskHasNotTakenIsNotSent() throws {
        var ends: (Int32, Int32) = (0, 0)
        try #require(
            withUnsafeMutablePointer(to: &ends) { $0.withMemoryRebound(to: Int32.self, capacity: 2) { pipe($0) } } == 0)
        let disk = SharedDescriptor(Descriptor(owning: ends.0))
        weak var ended: FileWriter?
        do {
            let writer = FileWriter(SharedDescriptor(Descriptor(owning: ends.1))) { _ in }
            ended = writer
            var offered = 0
            while numbered(offered).withUnsafeBytes({ writer.offer($0) }) { offered += 1 }
            // The pipe has room for 64 KiB.
            #expect(writer.written.bytes <= 65_536 && writer.written.messages < 50 && offered > 3_000)
            let hasEnded = writer.close(until: .now())
            #expect(!hasEnded)
        }
        // It ends when the disk goes on.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while read(disk.descriptor.number, &buffer, buffer.count) > 0 {}
        let limit = MonotonicTime.now() + Reader.timeout
        while ended != nil, .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        #expect(ended == nil)
    }

    /// Bytes count when the kernel has them, and messages when it has all of them.
    @Test func aFileBesideOthersHasEverythingInTheEnd() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID()).ts").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let sink = try Sink(StreamURL(path), waits: false)
            for i in 0..<500 { #expect(sink.send(numbered(i, count: 4 + i)) == .sent) }
            sink.flush(until: .now() + Reader.timeout)
            #expect(sink.statistics().packetsSent == 500 && sink.statistics().bytesSent == 126_750)
        }
        let written = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(written == 126_750)
    }

    @Test func aFullDiskIsTold() throws {
        let sink = try Sink(StreamURL("/dev/full"))
        #expect(sink.send(numbered(0)) == .notConnected)
        #expect(sink.isBroken && sink.nextEvent() == .disconnected(reason: "No space left on device"))
    }

    @Test func aWaitForAConnectionCanBeStopped() throws {
        // Whether anybody is there is of no account.
        let sink = try Sink(StreamURL("srt://127.0.0.1:9?mode=caller"))
        // An hour: this returns because it was stopped, or the test hangs.
        try sink.awaitConnection(until: .now() + .seconds(3600), stopped: { true })
        #expect(!sink.isConnected && !sink.isBroken)
    }

    @Test func aFullPipeDoesNotStopTheSender() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID()).pipe").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(mkfifo(path, 0o600) == 0)
        let end = open(path, O_RDWR | O_NONBLOCK)
        let sink = try Sink(StreamURL(path))
        var sent = 0
        while sink.send(numbered(sent)) == .sent && sent < 1000 { sent += 1 }
        #expect(sent > 0 && sent < 1000)
        #expect(sink.isConnected && !sink.isBroken && sink.nextEvent() == nil)
        #expect(sink.send(numbered(sent)) == .wouldBlock)
        let reader = try Reader(path)
        var read: [UInt8] = []
        while read.count < sent * 1316, let (_, bytes) = reader.next() { read += bytes }
        #expect(read == Array((0..<sent).map { numbered($0) }.joined()))
        close(end)
    }
}
