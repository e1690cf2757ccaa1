import Foundation
import Glibc
import Media
import Schedule
import Testing
@testable import Telemetry

@Suite struct TelemetryMapTests {
    /// The books, counters and histograms of the map are the ledger's, after any sequence of openings and closings.
    @Test(arguments: 0..<10) func theMapSaysWhatTheLedgerSays(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let map = try TestMap()
        let ledger = Ledger(keeping: 16, map: try map.writer())
        let reader = try map.reader()
        let held = BoundedQueue<FrameTicket>(capacity: 64)
        for n in 0..<2_000 {
            if random.next() % 2 == 0 {
                var ticket = ledger.open(FrameKind.allCases[Int(random.next() % 3)], presentation: MediaTime(ticks: 0))
                ticket.record[.lastPacket] = MonotonicTime(nanoseconds: 0)
                ticket.record[.sent] = MonotonicTime(nanoseconds: Int64(random.next() % 50_000_000))
                ticket.record.deadline = MonotonicTime(nanoseconds: 40_000_000)
                if let refused = held.offer(ticket) { ledger.close(refused, as: .dropped(.overload)) }
            } else if let ticket = held.pop(until: MonotonicTime(nanoseconds: 0)) {
                let fates = [FrameFate.emitted, .bypassed] + DropReason.allCases.map(FrameFate.dropped)
                let fate = fates[Int(random.next() % UInt64(fates.count))]
                ledger.close(ticket, as: fate)
            }
            if n % 100 == 0 { #expect(reader.snapshot().books.balance) }
        }
        let (snapshot, books) = (reader.snapshot(), ledger.books)
        #expect(snapshot.faults == 0)
        #expect(snapshot.books.description == books.description)
        #expect(snapshot.books.inFlight == UInt64(held.count))
        for reason in DropReason.allCases { #expect(snapshot.books.originalsDropped(reason) == books.originalsDropped(reason)) }
        ledger.withLatency { latency in
            #expect(snapshot.latency.misses == latency.misses)
            for series in Latency.Series.allCases {
                let (mapped, own) = (snapshot.latency[series], latency[series])
                #expect(mapped.count == own.count && mapped.sum == own.sum && mapped.largest == own.largest)
                for share in [0.1, 0.5, 0.99] { #expect(mapped.quantile(share) == own.quantile(share)) }
            }
        }
        #expect(snapshot.latency.original.count > 0 && snapshot.latency.misses > 0)
    }

    @Test func countersLegsGaugesAndOutputBooksArrive() throws {
        let map = try TestMap()
        let writer = try map.writer()
        let counters = StreamCounters(map: writer)
        for counter in StreamCounters.Counter.allCases { counters.add(counter, UInt64(counter.rawValue) + 1) }
        for kind in StepKind.allCases {
            for _ in 0...kind.rawValue { counters.add(kind, .milliseconds(2)) }
        }
        // Two outputs; the map has each, and their sum.
        var output = OutputLedger(outputs: [11, 12], map: writer)
        for _ in 0..<5 { output.countOffered(0) }
        for _ in 0..<3 { output.countOffered(1) }
        for _ in 0..<3 { output.countSent(0) }
        output.countDropped(1, .refused)
        output.setQueued(2)
        var gauges = StreamGauges()
        gauges.rung = 3
        gauges.coresLeast = 0.25
        gauges.coresSynthesising = 1.5
        gauges.rate = 59.94
        gauges.inputSize = PictureSize(width: 640, height: 360)
        gauges.outputSize = PictureSize(width: 1280, height: 720)
        gauges.output = StreamGauges.Output(step: 2, preset: .superfast)
        gauges.better = StreamGauges.Better(size: PictureSize(width: 1280, height: 720), preset: .medium, cores: 1.75)
        gauges.content = .calls
        (gauges.pastInput.bytes, gauges.pastInput.seconds) = (1_000_000, 19.5)
        (gauges.pastOutput.bytes, gauges.pastOutput.seconds) = (2_000_000, 20.5)
        writer.write(gauges)
        writer.write(numberedLeg(10), of: .input)
        writer.write(numberedLeg(50), of: .output)
        var figures = OutputFigures()
        (figures.state, figures.receivers, figures.leg) = (.connected, 3, numberedLeg(70))
        writer.write(figures, of: 1)
        // There is no such output.
        writer.write(figures, of: 2)
        writer.write(figures, of: 99)
        let snapshot = try map.reader().snapshot()
        for counter in StreamCounters.Counter.allCases { #expect(snapshot.counters[counter] == UInt64(counter.rawValue) + 1) }
        for kind in StepKind.allCases {
            let count = Int64(kind.rawValue) + 1
            let figures = StepFigures(pictures: UInt64(count), time: .milliseconds(2) * count)
            #expect(snapshot.steps[kind] == figures && counters[kind] == figures)
        }
        let units = snapshot.output
        #expect(units.offered == 8 && units.sent == 3 && units.dropped == 1 && units.queued == 4 && units.balance)
        #expect(snapshot.outputs.map(\.books) == output.books && snapshot.outputs.map(\.books.balance) == [true, true])
        #expect(snapshot.outputs[1].state == .connected && snapshot.outputs[1].receivers == 3)
        #expect("\(snapshot.outputs[1].leg)" == "\(numberedLeg(70))" && snapshot.outputs[0].state == .waiting)
        #expect(snapshot.gauges.rung == 3 && snapshot.gauges.coresLeast == 0.25 && snapshot.gauges.coresSynthesising == 1.5)
        #expect(snapshot.gauges.rate == 59.94 && snapshot.gauges.inputSize == gauges.inputSize)
        #expect(snapshot.gauges.outputSize == gauges.outputSize && snapshot.gauges.writtenAt.nanoseconds > 0)
        #expect(snapshot.gauges.output == gauges.output && snapshot.gauges.better == gauges.better)
        #expect(snapshot.gauges.content == .calls)
        #expect(snapshot.gauges.pastInput == gauges.pastInput && snapshot.gauges.pastOutput == gauges.pastOutput)
        #expect("\(snapshot.inputLeg)" == "\(numberedLeg(10))" && "\(snapshot.outputLeg)" == "\(numberedLeg(50))")
        #expect(snapshot.writers == 1 && snapshot.process == getpid() && snapshot.faults == 0)
        // The two clocks drift by less than a second in a test.
        let wall = Double((MonotonicTime.now() + snapshot.wallOffset).nanoseconds) / 1e9
        #expect(abs(wall - Date().timeIntervalSince1970) < 1)
    }

    private func numberedLeg(_ n: Int64) -> LegFigures {
        var leg = LegFigures()
        leg.isConnected = true
        for place in LegFigureTable.rows.indices { leg[place] = n + Int64(place) }
        for (place, reason) in RefusalReason.allCases.enumerated() { leg.refusals[reason] = n + 100 + Int64(place) }
        leg.roundTripTime = .milliseconds(Double(n))
        leg.window = .milliseconds(120)
        leg.packetsBuffered = n * 2
        leg.earlyIngest = .proven
        return leg
    }

    /// An output that stays goes on with its counts. What was queued there is dropped. One that another has replaced begins anew.
    @Test func outputsThatStayGoOn() throws {
        let map = try TestMap()
        do {
            let writer = try map.writer()
            var ledger = OutputLedger(outputs: [1, 2, 3], map: writer)
            for output in 0..<3 {
                for _ in 0..<4 { ledger.countOffered(output) }
                ledger.countSent(output)
                ledger.countDropped(output, .awaitsKeyframe)
                var figures = OutputFigures()
                figures.leg.packetsSent = 10
                writer.write(figures, of: output)
            }
            ledger.setQueued(2)
        }
        let writer = try map.writer()
        var ledger = OutputLedger(outputs: [1, 7], map: writer)
        ledger.countOffered(0)
        ledger.countSent(0)
        var figures = OutputFigures()
        figures.leg.packetsSent = 5
        for output in 0..<2 { writer.write(figures, of: output) }
        let outputs = try map.reader().snapshot().outputs
        #expect(outputs.count == 2 && outputs.map(\.leg.packetsSent) == [15, 5])
        #expect(outputs[0].books.offered == 5 && outputs[0].books.sent == 2 && outputs[0].books[.shutdown] == 2)
        #expect(outputs[0].books.balance && outputs[0].books.queued == 0)
        #expect(outputs[1].books == OutputBooks())
    }

    /// A worker is killed with frames in flight. Its successor counts them as dropped and goes on.
    @Test func aSuccessorGoesOnWhereADeadWorkerEnded() throws {
        let map = try TestMap()
        let reader = try map.reader()
        // Never closed, as after a kill.
        let left = BoundedQueue<FrameTicket>(capacity: 8)
        do {
            let writer = try map.writer()
            let ledger = Ledger(map: writer)
            for kind in [FrameKind.original, .original, .synthesised, .repeated] {
                _ = left.offer(ledger.open(kind, presentation: MediaTime(ticks: 0)))
            }
            ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .emitted)
            ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .dropped(.late))
            StreamCounters(map: writer).add(.inputGaps, 3)
            var output = OutputLedger(map: writer)
            for _ in 0..<3 { output.countOffered(0) }
            output.countSent(0)
            output.setQueued(2)
            writer.write(numberedLeg(100), of: .input)
            #expect(reader.snapshot().books.inFlight == 4 && reader.snapshot().books.balance)
        }
        let writer = try map.writer()
        var snapshot = reader.snapshot()
        #expect(snapshot.books.inFlight == 0 && snapshot.books.balance && snapshot.writers == 2)
        #expect(snapshot.books[.shutdown] == 4 && snapshot.books.originalsDropped(.shutdown) == 2)
        #expect(snapshot.output.dropped == 2 && snapshot.output.queued == 0 && snapshot.output.balance)
        #expect(!snapshot.inputLeg.isConnected && snapshot.inputLeg.packetsSent == numberedLeg(100).packetsSent)

        let ledger = Ledger(map: writer)
        let ticket = ledger.open(.original, presentation: MediaTime(ticks: 0))
        #expect(ticket.record.id == 6)
        ledger.close(ticket, as: .emitted)
        StreamCounters(map: writer).add(.inputGaps)
        writer.write(numberedLeg(1), of: .input)
        snapshot = reader.snapshot()
        #expect(snapshot.books.emitted == 2 && snapshot.books.balance && snapshot.counters[.inputGaps] == 4)
        #expect(snapshot.inputLeg.packetsSent == numberedLeg(100).packetsSent + numberedLeg(1).packetsSent)
        #expect(snapshot.inputLeg.roundTripTime == numberedLeg(1).roundTripTime)
        #expect(reader.records().frames.count == 3)
    }

    /// The books of a killed worker hide no frame that it had lost.
    @Test func aSuccessorDoesNotHideAVanishedFrame() throws {
        let map = try TestMap()
        let ledger = Ledger(map: try map.writer())
        do { _ = ledger.open(.original, presentation: MediaTime(ticks: 0)) }
        let left = BoundedQueue<FrameTicket>(capacity: 1)
        _ = left.offer(ledger.open(.original, presentation: MediaTime(ticks: 0)))
        _ = try map.writer()
        let books = try map.reader().snapshot().books
        #expect(books[.shutdown] == 1 && !books.balance)
    }

    /// Sound goes out between pictures, and uses up sequence numbers.
    @Test func theRTPSequenceGoesOnBetweenPictures() throws {
        let descriptor = try TelemetryMap.create()
        defer { close(descriptor) }
        let (writer, reader) = (try TelemetryMap.Writer(descriptor), try TelemetryMap.Reader(descriptor))
        var position = OutputPosition()
        for picture in 0..<5 as Range<UInt16> {
            position.rtp = RTPPosition(source: 7, sequence: 65_530 &+ 10 * picture, timestampBase: 9)
            position.presentation = MediaTime(ticks: Int64(picture))
            writer.write(position)
            #expect(reader.resumePoint().position == position)
            position.rtp?.sequence &+= 3
            writer.write(try #require(position.rtp))
            #expect(reader.resumePoint().position == position)
        }
    }

    @Test func whatASuccessorNeedsSurvives() throws {
        let map = try TestMap()
        let writer = try map.writer()
        #expect(writer.resumePoint == ResumePoint())
        var position = OutputPosition()
        for n in 1...5 as ClosedRange<Int64> {
            position.presentation = MediaTime(ticks: n * 3_000)
            position.decode = MediaTime(ticks: n * 3_000 - 1)
            position.sent = MonotonicTime(nanoseconds: n * 33)
            position.stamp = MonotonicTime(nanoseconds: n * 34)
            position.sourceOffset = -n
            position.interval = .milliseconds(33.3)
            position.epoch = UInt32(n)
            position.sourceClock = UInt32(n) + 1
            position.tableVersion = 31
            position.arrival = MonotonicTime(nanoseconds: n * 32)
            position.rtp = n == 2 ? nil : RTPPosition(source: .max, sequence: UInt16(n), timestampBase: .max - 1)
            writer.write(position)
        }
        let counters = [
            ContinuityCounter(identifier: 0, value: 0), ContinuityCounter(identifier: 8191, value: 15),
            ContinuityCounter(identifier: 256, value: 7),
        ]
        for (place, counter) in counters.enumerated() { writer.write(counter, at: place) }
        writer.write(counters[0], at: 32)
        let peers = (0..<33).map { (n: UInt8) -> LegPeer in
            let address: [UInt8] = n % 2 == 0 ? [192, 0, 2, n] : Array(200..<216)
            return LegPeer(
                address: address, port: 9000 + UInt16(n), scope: UInt32(n), localPort: 40_000,
                peerSocket: UInt32.max - UInt32(n), localSocket: 5)
        }
        writer.write([peers[0]], of: .input)
        writer.write([], of: .input)
        writer.write(peers, of: .output)
        // The newest position is being written when the worker is killed: the one before counts.
        let torn = position
        position.presentation = MediaTime(ticks: 99)
        writer.write(position)
        let copies = [TelemetryLayout.positions, TelemetryLayout.positions + TelemetryLayout.positionStride]
        let newest = copies.max { map.word($0) < map.word($1) }!
        map.write(map.word(newest) - 1, at: newest)
        let point = try map.writer().resumePoint
        #expect(point.position == torn && point.continuity == counters)
        #expect(point.inputPeers.isEmpty && point.outputPeers == Array(peers.prefix(32)))
        // The successor has no peers yet, and its own position goes on.
        let successor = try map.writer()
        #expect(successor.resumePoint.outputPeers.isEmpty && successor.resumePoint.position == torn)
        successor.write(position)
        #expect(try map.reader().resumePoint().position == position)
    }

    // MARK: The file

    @Test func nobodyCanCutAMap() throws {
        let map = try TestMap()
        for size in [0, TelemetryMap.byteCount - 1, TelemetryMap.byteCount * 2] {
            #expect(ftruncate(map.descriptor, size) == -1 && errno == EPERM)
        }
        #expect(TelemetryMap.size(of: map.descriptor) == TelemetryMap.byteCount)
    }

    @Test func aPlainFileMayBeCutAndReplaced() throws {
        let scratch = ScratchFolder()
        let path = scratch("stream.map")
        let first = try TelemetryMap.create(file: path)
        let ledger = Ledger(map: try TelemetryMap.Writer(first))
        ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .emitted)
        let reader = try TelemetryMap.Reader(path: path)
        #expect(reader.snapshot().books.emitted == 1 && reader.records().frames.count == 1)
        #expect(try TelemetryMap.Reader(bytes: reader.bytes()).records().frames.count == 1)

        // A second relay with the same name has a file of its own.
        let second = try TelemetryMap.create(file: path)
        ledger.close(ledger.open(.original, presentation: MediaTime(ticks: 0)), as: .emitted)
        #expect(reader.snapshot().books.emitted == 2)
        #expect(try TelemetryMap.Reader(path: path).snapshot().books.emitted == 0)
        close(first)
        let cut = try TelemetryMap.Reader(path: path)
        #expect(ftruncate(second, 100) == 0)
        #expect(cut.snapshot().books.emitted == 0 && cut.records().frames.isEmpty)
        #expect(throws: TelemetryMapError.self) { try TelemetryMap.Reader(path: path) }
        close(second)
    }

    @Test func whatIsNoMapIsRefused() throws {
        let scratch = ScratchFolder()
        try Data("a letter to keep".utf8).write(to: URL(filePath: scratch("letter")))
        func kind(_ body: () throws -> Void) -> TelemetryMapError.Kind? {
            do { try body() } catch { return (error as? TelemetryMapError)?.kind }
            return nil
        }
        #expect(kind { _ = try TelemetryMap.Reader(path: scratch("letter")) } == .notAMap)
        #expect(kind { _ = try TelemetryMap.create(file: scratch("letter")) } == .notAMap)
        #expect(try String(contentsOfFile: scratch("letter"), encoding: .utf8) == "a letter to keep")
        #expect(kind { _ = try TelemetryMap.Reader(path: scratch("none")) } == .inaccessible)
        #expect(kind { _ = try TelemetryMap.Reader(path: scratch.path) } == .notAMap)
        #expect(kind { _ = try TelemetryMap.create(file: scratch("none/map")) } == .inaccessible)
        let map = try TestMap()
        map.write(TelemetryLayout.version + 1, at: TelemetryLayout.versionWord)
        #expect(kind { _ = try map.reader() } == .otherVersion)
        #expect(kind { _ = try map.writer() } == .otherVersion)
    }

    @Test func aStreamIsFoundByItsName() throws {
        typealias Place = TelemetryMap.Place
        #expect(Place.folder(environment: ["RUNTIME_DIRECTORY": "/run/a:/run/b"], isRoot: true) == "/run/a")
        #expect(Place.folder(environment: ["XDG_RUNTIME_DIR": "/run/user/7"], isRoot: true) == "/run/burnish")
        #expect(Place.folder(environment: ["XDG_RUNTIME_DIR": "/run/user/7"], isRoot: false) == "/run/user/7/burnish")
        #expect(Place.folder(environment: [:], isRoot: false) == nil)
        #expect(Place.folders(environment: [:], isRoot: false) == ["/run/burnish"])
        let (scratch, map) = (ScratchFolder(), try TestMap())
        let target = Place.target(process: getpid(), descriptor: map.descriptor)
        try FileManager.default.createSymbolicLink(
            atPath: Place.link(to: "camera", in: scratch.path), withDestinationPath: target)
        #expect(Place.streams(in: scratch.path) == ["camera"] && Place.streams(in: scratch("none")) == [])
        #expect(try TelemetryMap.Reader(path: Place.link(to: "camera", in: scratch.path)).snapshot().faults == 0)
    }
}
