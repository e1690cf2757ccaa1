import Media
import TestSupport
import Testing

@testable import Container

/// A program that goes out beside other programs.
@Suite struct MultiplexMuxerTests {
    private static let audio: TransportStreamLayout = {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        return layout
    }()

    /// Program 7 (map 0x64, video 0x65, sound 0x66) beside program 8, whose map is on 0x70.
    private static func multiplex(passing: [Int] = [], others: [(UInt16, UInt16)] = [(8, 0x70)]) -> Multiplex {
        var multiplex = Multiplex(
            transportStreamID: 900, program: .init(number: 7, mapPID: 0x64), videoPID: 0x65, passedPIDs: [0x66],
            others: others.map { .init(number: $0.0, mapPID: $0.1) })
        for pid in others.map({ Int($0.1) }) + passing { multiplex.passing.insert(pid) }
        return multiplex
    }

    private func send(_ muxer: TransportStreamMuxer, at ticks: Int64, isKeyframe: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = []
        let unit: [UInt8] = [0, 0, 0, 1, 9, 0xF0] + [UInt8](repeating: 0x55, count: 300)
        let time = MediaTime(ticks: ticks)
        unit.withUnsafeBytes {
            muxer.writeVideo($0, presentationTime: time, decodeTime: time, isKeyframe: isKeyframe) { bytes += Array($0) }
        }
        if !muxer.layout.passedStreams.isEmpty {
            unit.withUnsafeBytes { muxer.writePassed(stream: 0, $0, presentationTime: time) { bytes += Array($0) } }
        }
        return bytes
    }

    private func identifiers(_ bytes: [UInt8]) -> [Int] {
        stride(from: 0, to: bytes.count, by: 188).map { Int(bytes[$0 + 1] & 0x1F) << 8 | Int(bytes[$0 + 2]) }
    }

    /// The version of the table in a packet.
    private func version(_ bytes: [UInt8], at packet: Int) -> UInt8 { bytes[packet * 188 + 5 + 5] >> 1 & 0x1F }

    @Test func theProgramKeepsItsNumberAndIdentifiers() throws {
        let muxer = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), continuing: nil)
        let bytes = send(muxer, at: 90_000)
        #expect(identifiers(bytes) == [0, 0x64, 0x65, 0x65, 0x66, 0x66])
        let section = try #require(ProgramAssociation(Array(bytes[5..<(5 + 3 + Int(bytes[7]))])))
        #expect(section.transportStreamID == 900 && section.networkID == nil)
        #expect(section.entries == [.init(number: 7, mapID: 0x64), .init(number: 8, mapID: 0x70)])
        let map = try #require(ProgramDescription(Array(bytes[193..<(193 + 3 + Int(bytes[195]))]), mapID: 0x64))
        #expect(map.number == 7 && map.clockID == 0x65 && map.streams.map(\.id) == [0x65, 0x66])
    }

    /// Without other programs everything is as it always was.
    @Test func aSingleProgramHasNumberOne() throws {
        let muxer = try TransportStreamMuxer(Self.audio)
        let bytes = send(muxer, at: 90_000)
        #expect(identifiers(bytes) == [0, 0x1000, 0x100, 0x100, 0x101, 0x101])
        #expect(Array(bytes[5..<21]) == [0, 0xB0, 13, 0, 1, 0xC1, 0, 0, 0, 1, 0xF0, 0, 0x2A, 0xB1, 0x04, 0xB2])
    }

    /// The network information's line comes first.
    @Test func theNetworkInformationIsNamed() throws {
        var multiplex = Self.multiplex()
        multiplex.networkPID = 0x10
        let bytes = send(try TransportStreamMuxer(Self.audio, in: multiplex, continuing: nil), at: 0)
        let section = try #require(ProgramAssociation(Array(bytes[5..<(5 + 3 + Int(bytes[7]))])))
        #expect(section.networkID == 0x10 && section.entries.map(\.number) == [7, 8])
    }

    /// A program that takes one of our identifiers moves ours to a free one. What was moved stays where it is.
    @Test func anIdentifierThatIsTakenMoves() throws {
        let muxer = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), continuing: nil)
        _ = send(muxer, at: 90_000)
        #expect(muxer.adopt(Self.multiplex(passing: [0x65])))
        var bytes = send(muxer, at: 91_000, isKeyframe: false)
        // 0x66 is the sound's and 0x64 the map's: neither moves.
        #expect(identifiers(bytes) == [0, 0x64, 0x67, 0x67, 0x66, 0x66])
        #expect(version(bytes, at: 0) == 0 && version(bytes, at: 1) == 1)
        #expect(!muxer.adopt(Self.multiplex(passing: [0x65, 0x300])))
        #expect(!muxer.adopt(Self.multiplex()))
        #expect(identifiers(send(muxer, at: 92_000, isKeyframe: false)) == [0x67, 0x67, 0x66, 0x66])
        // All of them at once, and the free ones behind them.
        #expect(muxer.adopt(Self.multiplex(passing: Array(0x60...0x6A))))
        bytes = send(muxer, at: 93_000)
        #expect(identifiers(bytes) == [0, 0x6B, 0x6C, 0x6C, 0x6D, 0x6D])
        #expect(version(bytes, at: 0) == 2 && version(bytes, at: 1) == 2)
    }

    /// The search for a free identifier goes round, past the tables of DVB.
    @Test func theSearchGoesRound() throws {
        let muxer = try TransportStreamMuxer(
            Self.audio, in: Self.multiplex(passing: Array(0x64...0x1FFE) + [0x20]), continuing: nil)
        #expect(identifiers(send(muxer, at: 0)) == [0, 0x21, 0x22, 0x22, 0x23, 0x23])
    }

    /// A change of other programs changes the association alone.
    @Test func onlyWhatChangesGetsANewVersion() throws {
        let muxer = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), continuing: nil)
        _ = send(muxer, at: 90_000)
        #expect(!muxer.adopt(Self.multiplex(passing: [0x300])))
        // Nothing in the tables has changed, so they do not come again before their time.
        #expect(identifiers(send(muxer, at: 91_000, isKeyframe: false)) == [0x65, 0x65, 0x66, 0x66])
        #expect(!muxer.adopt(Self.multiplex(others: [(8, 0x70), (9, 0x80)])))
        var bytes = send(muxer, at: 92_000, isKeyframe: false)
        #expect(identifiers(bytes).prefix(2) == [0, 0x64] && version(bytes, at: 0) == 1 && version(bytes, at: 1) == 0)
        // Another layout is another map, and no version is used twice in a row.
        for k in 2..<32 { _ = muxer.adopt(Self.multiplex(others: [(UInt16(k), 0x70)])) }
        bytes = send(muxer, at: 93_000)
        #expect(version(bytes, at: 0) == 31 && version(bytes, at: 1) == 0 && muxer.tableVersion == 31)
        let next = try TransportStreamMuxer(TransportStreamLayout(), in: Self.multiplex(), continuing: muxer)
        bytes = send(next, at: 94_000)
        #expect(version(bytes, at: 0) == 1 && version(bytes, at: 1) == 1)
    }

    @Test func mostProgramsFitOneSection() throws {
        let others = (0..<(Multiplex.mostPrograms - 2)).map { (UInt16(100 + $0), UInt16(0x400 + $0)) }
        var multiplex = Self.multiplex(others: others)
        multiplex.networkPID = 0x10
        let muxer = try TransportStreamMuxer(Self.audio, in: multiplex, continuing: nil)
        let bytes = send(muxer, at: 0)
        #expect(identifiers(bytes).prefix(7) == [0, 0, 0, 0, 0, 0, 0x64])
        let harvest = Harvest()
        var demuxer = TransportStreamDemuxer()
        harvest.push(bytes, into: &demuxer, size: 188)
        for k in 1..<4 { harvest.push(send(muxer, at: Int64(k) * 9000), into: &demuxer, size: 188) }
        #expect(harvest.programs.first?.number == 7 && harvest.programs.first?.otherPrograms.count == 251)
        #expect(harvest.counters.sectionFaults == 0 && harvest.counters.continuityGaps == 0)
    }

    /// Packets go out as they are. The tables go before the first ones, and again when 100 ms have passed without them, or when a
    /// receiver has come.
    @Test func packetsBringTheTablesAlong() throws {
        let muxer = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), continuing: nil)
        var packets = [UInt8](repeating: 0x33, count: 7 * 188)
        for k in 0..<7 { packets.replaceSubrange((k * 188)..<(k * 188 + 3), with: [0x47, 0, 0x71]) }
        func pass(at milliseconds: Int64) -> [Int] {
            var bytes: [UInt8] = []
            packets.withUnsafeBytes { all in
                muxer.writePackets(all, arrival: MonotonicTime(nanoseconds: milliseconds * 1_000_000)) { bytes += Array($0) }
            }
            #expect(bytes.suffix(packets.count) == packets[...])
            return identifiers(bytes).dropLast(7)
        }
        #expect(pass(at: 1000) == [0, 0x64])
        #expect(pass(at: 1001) == [] && pass(at: 1099) == [] && pass(at: 1100) == [0, 0x64])
        _ = send(muxer, at: 90_000)
        #expect(pass(at: 1250) == [] && pass(at: 1349) == [] && pass(at: 1350) == [0, 0x64])
        muxer.restart()
        #expect(pass(at: 1351) == [0, 0x64] && pass(at: 1352) == [])
        // A receiver that comes behind a unit with tables has not seen those.
        _ = send(muxer, at: 99_000)
        muxer.restart()
        #expect(pass(at: 1353) == [0, 0x64])
        _ = muxer.adopt(Self.multiplex(others: [(9, 0x70)]))
        #expect(pass(at: 1354) == [0, 0x64])
    }

    /// A process that goes on knows the counters by their identifiers.
    @Test func anotherProcessGoesOn() throws {
        let first = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), continuing: nil)
        var reader = Continuity()
        for k in 0..<5 { reader.read(send(first, at: Int64(k) * 3000)) }
        var end = MultiplexEnd(tableVersion: first.tableVersion)
        first.forEachCounter { end.counters[$0] = $1 }
        let second = try TransportStreamMuxer(Self.audio, in: Self.multiplex(), resuming: end)
        for k in 5..<10 { reader.read(send(second, at: Int64(k) * 3000)) }
        #expect(reader.gaps == 0 && second.tableVersion == 1)
    }

    private struct Continuity {
        var last: [Int: UInt8] = [:]
        var gaps = 0

        mutating func read(_ bytes: [UInt8]) {
            for at in stride(from: 0, to: bytes.count, by: 188) where bytes[at + 3] & 0x10 != 0 {
                let pid = Int(bytes[at + 1] & 0x1F) << 8 | Int(bytes[at + 2])
                if let last = last[pid], bytes[at + 3] & 15 != (last + 1) & 15 { gaps += 1 }
                last[pid] = bytes[at + 3] & 15
            }
        }
    }
}
