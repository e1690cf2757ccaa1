import Media

@testable import Bitstream
@testable import Container

/// The input's first byte is the size of the pieces that the rest is pushed in; 255 stands for a table without its
/// checksum, which the fuzzer would not guess.
func fuzzTransportStream(_ input: UnsafeRawBufferPointer) {
    guard input.count > 1 else { return }
    let (mode, bytes) = (input[0], UnsafeRawBufferPointer(rebasing: input[1...]))
    guard mode != 255 else { return fuzzTables(Array(bytes)) }
    var demuxer = TransportStreamDemuxer(unitLimit: 1 << 16)
    var layout = TransportStreamLayout()
    layout.passedStreams = [.aac]
    let muxer = try! TransportStreamMuxer(layout)
    let handler: TransportStreamDemuxer.Handler = { event in
        switch event {
        case .unit(let unit):
            touch(unit.bytes)
            touch(unit.header)
            guard !unit.isMainVideo else { break }
            muxer.writePassed(
                stream: 0, header: unit.header, unit.bytes, presentationTime: unit.presentation, decodeTime: unit.decode
            ) { touch($0) }
        case .multiplex(let multiplex): adopt(multiplex, muxer)
        case .packets(let packets):
            precondition((1...7).contains(packets.count))
            muxer.writePackets(packets.bytes, arrival: packets.arrival) { touch($0) }
        default: break
        }
    }
    let piece = Int(mode) * 8 + 1
    var at = 0
    while at < bytes.count {
        let end = min(at + piece, bytes.count)
        let now = MonotonicTime(nanoseconds: Int64(at) * 10_000)
        if mode & 1 == 1, let timer = demuxer.nextTimer, timer < now { demuxer.timeout(timer, handler: handler) }
        if mode & 15 == 2, at & 64 != 0 { demuxer.recordLoss() }
        withCopy(of: UnsafeRawBufferPointer(rebasing: bytes[at..<end])) {
            demuxer.push($0, arrival: now, sourceTime: nil, handler: handler)
        }
        at = end
    }
    _ = demuxer.diagnosis
    demuxer.finish(handler: handler)
}

/// No packet identifier may be used twice.
private func adopt(_ multiplex: Multiplex?, _ muxer: TransportStreamMuxer) {
    _ = muxer.adopt(multiplex)
    var used: Set<UInt16> = []
    muxer.forEachCounter { pid, _ in
        precondition(used.insert(pid).inserted && pid < 0x1FFF && multiplex?.passing.contains(Int(pid)) != true)
    }
}

private func fuzzTables(_ section: [UInt8]) {
    let access = ConditionalAccess.identifiers(inSection: section) ?? []
    precondition(MetadataPointer.pointing(section, to: 1).count == section.count)
    precondition(ConditionalAccess.without(section).count <= section.count)
    let association = ProgramAssociation(section)
    guard let map = ProgramDescription(section, mapID: 0x1000) else {
        guard let association else { return }
        // Its own lines are the programs, all with the same map.
        let map = ProgramDescription(number: 1, mapID: 0x1000, version: 0, streams: [], clockID: 0x100, accessIDs: access)
        return adopt(map, association.entries.map { ($0, map) }, association.networkID, access)
    }
    // Programs whose maps name what ours does.
    adopt(map, (1...300).map { (.init(number: $0, mapID: 0x20 + $0), map) }, nil, access)
}

private func adopt(
    _ current: ProgramDescription, _ programs: [(entry: ProgramAssociation.Entry, map: ProgramDescription?)],
    _ networkID: Int?, _ access: [Int]
) {
    adopt(
        Multiplex(around: current, transportStreamID: 1, networkID: networkID, programs: programs, accessIDs: access),
        try! TransportStreamMuxer())
}

/// The input's first byte chooses the codec; the rest is a unit of sound, read frame by frame.
func fuzzSound(_ input: UnsafeRawBufferPointer) {
    guard input.count > 1 else { return }
    let codecs: [SoundFrame.Format.Codec] = [.aac, .layer2, .ac3, .opus]
    let bytes = Array(input[1...])
    var at = 0
    while at < bytes.count, let frame = SoundFrame(bytes.span.extracting(at..<bytes.count), codecs[Int(input[0]) % 4]) {
        precondition(frame.byteCount > 0 && frame.samples > 0 && frame.format.channels > 0)
        at += frame.byteCount
    }
}

/// The input's first byte is the size of the pieces that the byte stream grows by.
func fuzzVideo(_ input: UnsafeRawBufferPointer, _ codec: VideoCodec) {
    guard input.count > 1 else { return }
    let piece = Int(input[0]) * 4 + 1
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    if codec == .h264 { _ = try? SequenceParameterSet(bytes) }
    var scanner = AccessUnitScanner(codec)
    var reader = codec.makeUnitReader()
    var (start, end) = (0, 0)
    while end < bytes.count {
        end = min(end + piece, bytes.count)
        var isDone = false
        while !isDone {
            let finding = scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), isEnd: end == bytes.count)
            switch finding {
            case .nothing: isDone = true
            case .continuation: break
            case .unitStart(let offset):
                precondition(offset >= 0 && start + offset <= end)
                scanner.discard(before: offset)
                start += offset
            case .unitEnd(let offset):
                precondition(offset > 0 && start + offset <= end)
                withCopy(of: UnsafeRawBufferPointer(rebasing: bytes[start..<start + offset])) { read($0, codec, &reader) }
                scanner.cut(at: offset)
                start += offset
            }
        }
    }
    withCopy(of: UnsafeRawBufferPointer(rebasing: bytes[start...])) { read($0, codec, &reader) }
    _ = scanner.parameters
    _ = scanner.keptSets.bytes
}

private func read(_ unit: UnsafeRawBufferPointer, _ codec: VideoCodec, _ reader: inout any AccessUnitReader) {
    if var data = UserDataReader.read(unit, of: codec) {
        var all = PictureUserData()
        precondition(all.absorb(&data) == (data.pieces == 0) && all.pieces <= PictureUserData.messageCapacity)
    }
    guard codec == .av1 else {
        let summary = reader.read(unit)
        precondition(summary.quantiser.map { 0...51 ~= $0 } ?? true)
        return
    }
    var plain: [UInt8] = []
    AV1StartCodes.remove(from: unit, into: &plain)
    plain.withUnsafeBytes { _ = reader.read($0) }
}

/// The input is a photograph's whole file.
func fuzzPhotograph(_ input: UnsafeRawBufferPointer) {
    precondition(PhotographOrientation.tag(in: input).map { (2...8).contains($0) } ?? true)
}

/// The input's first byte says whether the rest has start codes.
func fuzzAV1(_ input: UnsafeRawBufferPointer) {
    guard input.count > 1 else { return }
    if input[0] & 1 == 1 { fuzzVideo(input, .av1) } else { fuzzUnits(input, .av1) }
}

/// The input's first byte is the size of its first unit; the rest is the second.
func fuzzUnits(_ input: UnsafeRawBufferPointer, _ codec: VideoCodec) {
    guard input.count > 1 else { return }
    var reader = codec.makeUnitReader()
    let first = min(Int(input[0]), input.count - 1)
    for range in [1..<(1 + first), (1 + first)..<input.count] {
        withCopy(of: UnsafeRawBufferPointer(rebasing: input[range])) { _ = reader.read($0) }
    }
}
