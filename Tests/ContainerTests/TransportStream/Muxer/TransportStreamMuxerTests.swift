import Media
import Testing

@testable import Container

@Suite struct TransportStreamMuxerTests {
    /// A muxer's output, gathered.
    private struct Emitted {
        var bytes: [UInt8] = []
        var messages: [Int] = []

        mutating func add(_ message: UnsafeRawBufferPointer) {
            bytes += Array(message)
            messages.append(message.count)
        }
    }

    private func unit(_ count: Int) -> [UInt8] {
        [0, 0, 0, 1, 9, 0xf0] + (6..<max(6, count)).map { UInt8(truncatingIfNeeded: $0 &* 7) | 1 }
    }

    @Test func everyUnitLeavesCompleteWhateverItsLength() throws {
        let muxer = try TransportStreamMuxer()
        var ticks: Int64 = 90_000
        var emitted = Emitted()
        var reader = PacketReader()
        // All remainders of a packet; around the longest that has a length; around what would fill the last packet of
        // one without (70082).
        for count in Array(6...400) + Array(65_525...65_529) + Array(70_078...70_086) {
            let unit = self.unit(count)
            let before = emitted.bytes.count
            unit.withUnsafeBytes {
                muxer.writeVideo(
                    $0, presentationTime: MediaTime(ticks: ticks), decodeTime: MediaTime(ticks: ticks),
                    isKeyframe: count % 50 == 0
                ) { emitted.add($0) }
            }
            let units = try reader.read(emitted.bytes[before...])
            try #require(units.count == 1)
            #expect(units[0].pid == 0x100 && units[0].payload == unit && units[0].presentationTime == ticks)
            #expect(units[0].hasLength == (count + 8 <= 65_535))
            #expect(units[0].hasLength || units[0].endsWithStuffing)
            ticks += 3000
        }
        #expect(emitted.messages.allSatisfy { $0 <= 1316 && $0 % 188 == 0 })
    }

    @Test func timesWrapAtThirtyThreeBits() throws {
        let muxer = try TransportStreamMuxer()
        var reader = PacketReader()
        for i in -5..<5 {
            let time = MediaTime(ticks: 1 << 33 + Int64(i) * 3000)
            var emitted = Emitted()
            unit(300).withUnsafeBytes {
                muxer.writeVideo(
                    $0, presentationTime: time + 6000, decodeTime: time, isKeyframe: false
                ) { emitted.add($0) }
            }
            let units = try reader.read(emitted.bytes[...])
            #expect(units.first?.presentationTime == (time.ticks + 6000) & 0x1_ffff_ffff)
            #expect(units.first?.decodeTime == time.ticks & 0x1_ffff_ffff)
        }
    }

    @Test func countersRunOnOverAReconnectionAndTablesComeFirst() throws {
        let muxer = try TransportStreamMuxer()
        var reader = PacketReader()
        for i in 0..<12 {
            var emitted = Emitted()
            let isReconnected = i == 5 || i == 6
            if isReconnected { muxer.restart() }
            let time = MediaTime(ticks: 90_000 + Int64(i) * 1000)
            unit(1000 + i).withUnsafeBytes {
                muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: false) { emitted.add($0) }
            }
            // The reader checks that every counter goes on.
            _ = try reader.read(emitted.bytes[...])
            let startsWithTables = emitted.bytes[1] & 0x1f == 0 && emitted.bytes[2] == 0
            #expect(startsWithTables == (isReconnected || i == 0 || i == 12))
        }
    }

    @Test func aMuxerContinuesAnothersStream() throws {
        var layouts = [TransportStreamLayout(), TransportStreamLayout(), TransportStreamLayout()]
        layouts[1].passedStreams = [.aac]
        layouts[2].passedStreams = [.aac, .aac]
        var muxer: TransportStreamMuxer?
        var reader = PacketReader()
        var demuxer = TransportStreamDemuxer()
        var versions: [Int] = []
        // Another layout, the same again, streams that go and come back, and versions that begin again after 31.
        let order = [0, 1, 1, 2, 0, 2] + (0..<34).map { $0 % 2 }
        for (i, index) in order.enumerated() {
            let next = try TransportStreamMuxer(layouts[index], continuing: muxer)
            muxer = next
            var emitted = Emitted()
            let time = MediaTime(ticks: 90_000 + Int64(i) * 1000)
            unit(1000).withUnsafeBytes {
                next.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: false) { emitted.add($0) }
            }
            for stream in layouts[index].passedStreams.indices {
                unit(300).withUnsafeBytes {
                    next.writePassed(stream: stream, $0, presentationTime: time) { emitted.add($0) }
                }
            }
            // The reader checks that every counter goes on.
            _ = try reader.read(emitted.bytes[...])
            emitted.bytes.withUnsafeBytes {
                demuxer.push($0, arrival: MonotonicTime(nanoseconds: Int64(i)), sourceTime: nil) { _ in }
            }
            #expect(demuxer.program?.streams.count == 1 + layouts[index].passedStreams.count)
            versions.append(demuxer.program?.version ?? -1)
        }
        #expect(versions == [0, 1, 1, 2, 3, 4] + (0..<34).map { (5 + $0) % 32 })
        #expect(zip(reader.clocks, reader.clocks.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// A process that goes on for another one knows only what the receivers have seen last.
    @Test func aMuxerOfAnotherProcessGoesOn() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac, .aac]
        var demuxer = TransportStreamDemuxer()
        var reader = PacketReader()
        var end: MultiplexEnd?
        var versions: [Int] = []
        for process in 0..<3 {
            // A stream that is gone leaves its counter to nobody.
            if process == 2 { layout.passedStreams = [.aac] }
            let muxer = try end.map { try TransportStreamMuxer(layout, resuming: $0) } ?? TransportStreamMuxer(layout)
            for i in 0..<5 {
                var emitted = Emitted()
                let time = MediaTime(ticks: 90_000 + Int64(process * 5 + i) * 3000)
                unit(3000).withUnsafeBytes {
                    muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: i == 0) { emitted.add($0) }
                }
                // One of the two streams has sent nothing.
                unit(300).withUnsafeBytes { muxer.writePassed(stream: 0, $0, presentationTime: time) { emitted.add($0) } }
                _ = try reader.read(emitted.bytes[...])
                emitted.bytes.withUnsafeBytes {
                    demuxer.push($0, arrival: MonotonicTime(nanoseconds: Int64(i)), sourceTime: nil) { event in
                        if case .fault(let fault, _) = event { Issue.record("\(fault)") }
                    }
                }
            }
            versions.append(demuxer.program?.version ?? -1)
            end = MultiplexEnd(tableVersion: muxer.tableVersion)
            muxer.forEachCounter { end?.counters[$0] = $1 }
        }
        #expect(versions == [0, 1, 2])
        #expect(zip(reader.clocks, reader.clocks.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func aJumpOfTheTimeLineIsMarked() throws {
        let muxer = try TransportStreamMuxer()
        var marks: [Bool] = []
        for ticks in [900_000, 903_000, 100_000, 103_000, 103_000] as [Int64] {
            var emitted = Emitted()
            let time = MediaTime(ticks: ticks)
            unit(300).withUnsafeBytes {
                muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: true) { emitted.add($0) }
            }
            // Tables are two packets; the video's first carries the field.
            marks.append(emitted.bytes[2 * 188 + 5] & 0x80 != 0)
        }
        #expect(marks == [false, false, true, false, false])
    }

    @Test func moreStreamsThanAMapHoldsAreATypedError() {
        var layout = TransportStreamLayout()
        let stream = TransportStreamLayout.PassedStream(streamType: 6, descriptors: Array(repeating: 0, count: 90))
        layout.passedStreams = Array(repeating: stream, count: 11)
        #expect(throws: ContainerError.self) { _ = try TransportStreamMuxer(layout) }
    }

    @Test func aLongMapTakesSeveralPackets() throws {
        var layout = TransportStreamLayout()
        let descriptor: [UInt8] = [0x0a, 4] + Array("eng".utf8) + [0]
        layout.passedStreams = Array(repeating: .init(streamType: 0x0f, descriptors: descriptor), count: 30)
        let muxer = try TransportStreamMuxer(layout)
        var emitted = Emitted()
        var demuxer = TransportStreamDemuxer()
        unit(300).withUnsafeBytes {
            muxer.writeVideo(
                $0, presentationTime: MediaTime(ticks: 0), decodeTime: MediaTime(ticks: 0), isKeyframe: true
            ) { emitted.add($0) }
        }
        emitted.bytes.withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil) { _ in }
        }
        #expect(demuxer.program?.streams.count == 31)
        #expect(demuxer.program?.streams.last?.descriptors == descriptor)
    }

    @Test func aSlowStreamStillCarriesItsClock() throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let muxer = try TransportStreamMuxer(layout)
        var emitted = Emitted()
        let (video, audio) = (unit(4000), unit(200))
        for i in 0..<200 {
            let time = MediaTime(ticks: Int64(i) * 1920 + 900_000)
            audio.withUnsafeBytes { muxer.writePassed(stream: 0, $0, presentationTime: time) { emitted.add($0) } }
            if i % 4 == 0 {
                video.withUnsafeBytes {
                    muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: i == 0) {
                        emitted.add($0)
                    }
                }
            }
        }
        var reader = PacketReader()
        let units = try reader.read(emitted.bytes[...])
        #expect(units.filter { $0.pid == 0x101 }.count == 200)
        #expect(units.filter { $0.pid == 0x101 }.allSatisfy { $0.payload == audio && $0.hasLength })
        // How slow the video is can be known from its second unit on. The first two clocks are the first sound's and the first
        // picture's.
        let steps = zip(reader.clocks.dropFirst(2), reader.clocks.dropFirst(3)).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > 0 && $0 <= 3600 }, "clock references are more than 40 ms apart")
        #expect(units.allSatisfy { ($0.presentationTime ?? 0) > ($0.clockBefore ?? 0) })
        #expect(reader.tables >= 200 * 1920 / 9000, "tables are more than 100 ms apart")
    }

    /// The clock goes on with the sound where no picture has come yet, and where none comes any more. While pictures come, it is
    /// theirs, also where the sound lies ahead of them or comes in bunches.
    @Test(arguments: [0, 45_000, 450_000] as [Int64]) func theClockGoesOnWithoutVideo(ahead: Int64) throws {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let muxer = try TransportStreamMuxer(layout)
        let (video, audio) = (unit(400), unit(200))
        var reader = PacketReader()
        func write(_ frames: Range<Int64>, withVideo: Bool) throws -> [Int64] {
            var emitted = Emitted()
            for i in frames {
                // Four units of sound come in a bunch before three pictures.
                for n in 0..<4 {
                    let time = MediaTime(ticks: 900_000 + ahead + i * 9_600 + Int64(n) * 2_400)
                    audio.withUnsafeBytes { muxer.writePassed(stream: 0, $0, presentationTime: time) { emitted.add($0) } }
                }
                for n in 0..<3 where withVideo {
                    let time = MediaTime(ticks: 900_000 + i * 9_600 + Int64(n) * 3_200)
                    video.withUnsafeBytes {
                        muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: i == 0) { emitted.add($0) }
                    }
                }
            }
            let before = reader.clocks.count
            _ = try reader.read(emitted.bytes[...])
            return Array(reader.clocks.dropFirst(before))
        }
        let first = try write(0..<10, withVideo: false)
        func isSteady(_ clocks: [Int64]) -> Bool { zip(clocks.dropFirst(), clocks).allSatisfy { 1...3_600 ~= $0 - $1 } }
        #expect(first.first == 895_500 + ahead && first.count >= 39 && isSteady(first))
        _ = try write(10..<30, withVideo: true)
        let during = try write(30..<60, withVideo: true)
        let expected: [Int64] = (0..<90).map { (n: Int64) -> Int64 in 1_183_500 + n * 3_200 }
        #expect(during == expected)
        // From the last picture on the clock has one longer step.
        let after = try write(60..<90, withVideo: false)
        #expect(after.count >= (ahead > 90_000 ? 65 : 100) && isSteady(after), "\(after.count)")
        #expect(after.last == 1_757_100 + ahead)
    }
}
