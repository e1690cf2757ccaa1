import Container
import Endpoint
import Media
@testable import Packets

/// Cuts an input into datagrams: two bytes of length each, the second's upper bits also say what else the datagram is.
private func forEachDatagram(in input: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Int) -> Void) {
    var rest = input[...]
    while let low = rest.popFirst(), let high = rest.popFirst() {
        let datagram = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(low) | Int(high & 7) << 8))
        rest = rest.dropFirst(datagram.count)
        withCopy(of: datagram) { body($0, Int(high >> 3)) }
    }
}

/// RTP and RTCP datagrams of a call, to a session that receives, to one that receives a picture in three sizes, and to one that sends.
func fuzzCall(_ input: UnsafeRawBufferPointer) {
    var video = RTPTrack([RTPFormat(.h264, payloadType: 96, retransmission: 97), RTPFormat(.vp8, payloadType: 98)])
    video.feedback = [.retransmission, .pictureLoss, .intraRequest, .bitRate, .arrivals]
    video.mid = "0"
    (video.extensions.absoluteSendTime, video.extensions.transportSequence, video.extensions.playoutDelay) = (1, 2, 3)
    (video.extensions.absoluteCaptureTime, video.extensions.mid) = (4, 5)
    video.source = 7
    let tracks = [video, RTPTrack([RTPFormat(.opus, payloadType: 111, redundancy: 63)])]
    var receiver = RTPReceiveSession(tracks)
    (video.extensions.layer, video.extensions.repeatedLayer, video.source) = (6, 7, nil)
    video.layers = ["a", "b", "c"].map { RTPLayer(name: $0) }
    var layered = RTPReceiveSession([video, tracks[1]])
    var sender = RTPSendSession(tracks)
    sender.usefulBitRate = 4_000_000
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)
    defer { buffer.deallocate() }
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    forEachDatagram(in: input) { datagram, pace in
        now = now + .milliseconds(Double(pace * pace))
        take(datagram, into: buffer, &receiver, at: now)
        take(datagram, into: buffer, &layered, at: now)
        _ = sender.send(
            datagram, none, track: 0, presentation: MediaTime(ticks: 0), sourceTime: now, isMarked: pace % 2 == 0, at: now
        ) {
            touch($0)
            return .sent
        }
        _ = sender.claimGap()
        _ = sender.claimKeyframe(at: now)
        sender.receive(datagram, at: now) { bytes, _ in touch(bytes) }
        sender.nextReport(at: now) { bytes, _ in touch(bytes) }
    }
}

private func take(
    _ datagram: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer, _ session: inout RTPReceiveSession,
    at now: MonotonicTime
) {
    session.receive(datagram, arrival: now)
    while session.nextEvent(at: now) != nil {}
    while let (_, count) = session.next(at: now, into: buffer) {
        precondition(count <= datagram.count || count <= 2048, "more than a packet came out")
    }
    session.nextFeedback(at: now) { bytes, _ in touch(bytes) }
}

/// What a receiver tells of the arrivals of packets that were sent to it: each datagram is a report's part behind the sources.
func fuzzArrivals(_ input: UnsafeRawBufferPointer) {
    var estimate = BandwidthEstimate()
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var number: UInt16 = 0
    forEachDatagram(in: input) { datagram, pace in
        for _ in 0..<pace {
            estimate.sent(number, bytes: 200 + 40 * pace, isOfPicture: number % 8 != 0, roundTrip: nil, at: now)
            number &+= 1
        }
        now = now + .milliseconds(Double(1 + pace * pace))
        let words = 2 + (datagram.count + 3) / 4
        let report =
            [0x8f, 205, UInt8(words >> 8), UInt8(words & 255), 0, 0, 0, 1, 0, 0, 0, 2] + Array(datagram)
            + [UInt8](repeating: 0, count: (4 - datagram.count % 4) % 4)
        var reader = RTCPReader(report.span)
        guard case .arrivals(let summary) = reader.next() else { return }
        var arrivals = ArrivalReader(summary, in: report.span)
        var count = 0
        while arrivals.next() != nil { count += 1 }
        precondition(count == summary.packets, "another number of packets than the report is about")
        estimate.receive(summary, in: report.span, roundTrip: nil, at: now)
        if let rate = estimate.bitRate { precondition(BandwidthEstimate.range.contains(rate), "a rate out of bounds") }
    }
}

/// Payloads of video and sound, with losses between them, and units that are cut into payloads.
func fuzzPayloads(_ input: UnsafeRawBufferPointer) {
    var demuxer = RTPDemuxer(
        [
            RTPStreamDescription(id: 0, format: .h264, parameterSets: [[0x67, 0x42, 0xc0, 0x0a], [0x68, 0xce]]),
            RTPStreamDescription(id: 1, format: .opus),
        ], unitLimit: 1 << 16)
    var timestamp: UInt32 = 0
    forEachDatagram(in: input) { payload, kind in
        if kind & 8 != 0 { timestamp &+= 3000 }
        let format: RTPPayloadFormat = kind & 16 != 0 ? .opus : kind & 4 != 0 ? .vp8 : .h264
        let packet = RTPPacketFacts(
            stream: format == .opus ? 1 : 0, format: format, timestamp: timestamp,
            presentation: MediaTime(ticks: Int64(timestamp)), isMarked: kind & 1 != 0, lost: kind & 2 != 0 ? 1 : 0,
            arrival: MonotonicTime(nanoseconds: Int64(timestamp)))
        demuxer.push(payload, packet) { event in
            if case .unit(let unit) = event { touch(unit.bytes) }
        }
    }
    demuxer.finish { _ in }
    var h264 = H264Packetiser(largest: 64)
    h264.packetise(input) { head, body, _ in
        precondition(head.count + body.count <= 64, "a payload is too large")
        touch(head)
        touch(body)
    }
    OpusPayload.forEachPacket(in: input) { packet, _ in touch(packet) }
}
