import Endpoint
import Media
@testable import Packets
@testable import SRT

func fuzzURL(_ input: UnsafeRawBufferPointer) {
    guard let url = try? StreamURL(String(decoding: input, as: UTF8.self)) else { return }
    precondition(!url.description.utf8.contains(0), "a NUL byte got through")
}

/// What a caller sent, to a port with several streams and to one with a single stream.
func fuzzStreamID(_ input: UnsafeRawBufferPointer) {
    let text = String(decoding: input, as: UTF8.self)
    if case .keyed(let keys) = StreamRequest(parsing: text) {
        precondition(text.contains(keys.resource), "the resource is not what was sent")
    }
    let many: [CallerRouting.Candidate] = [
        .init(streamID: "cam", direction: .input), .init(streamID: "cam", direction: .output),
        .init(streamID: "mic", direction: .input),
    ]
    if case .leg(let index) = CallerRouting.choose(text, among: many) {
        precondition(text.contains(many[index].streamID!), "a stream that was not asked for")
    }
    _ = CallerRouting.choose(text, among: [.init(streamID: nil, direction: .output)])
}

/// The input is a number of datagrams: two bytes of length each, the second also the pace at which they arrive.
func fuzzRTP(_ input: UnsafeRawBufferPointer) {
    var clock = RTPClock()
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var rest = input[...]
    while let low = rest.popFirst(), let high = rest.popFirst() {
        let datagram = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(low) | Int(high & 7) << 8))
        rest = rest.dropFirst(datagram.count)
        now = now + .milliseconds(Double(high >> 3) * Double(high >> 3))
        withCopy(of: datagram) { bytes in
            guard bytes.count >= 2 else { return }
            if RTCPDatagram.isPlausible(secondByte: bytes[1]) {
                _ = RTCPDatagram(reading: Span(_unsafeBytes: bytes))
            } else if let header = RTPHeader(reading: Span(_unsafeBytes: bytes)) {
                _ = clock.map(timestamp: header.timestamp, arrival: now)
                let rest = UnsafeRawBufferPointer(rebasing: bytes[RTPHeader.byteCount...])
                if let body = header.body(in: Span(_unsafeBytes: rest), from: 0) {
                    touch(UnsafeRawBufferPointer(rebasing: rest[body.payload]))
                }
            }
        }
    }
}

/// What is read and written again is read as the same.
func fuzzSessionDescription(_ input: UnsafeRawBufferPointer) {
    guard let session = try? SessionDescription(parsing: String(decoding: input, as: UTF8.self)) else { return }
    precondition((try? SessionDescription(parsing: session.text)) != nil, "what was written cannot be read")
    for section in session.media {
        for map in section.rtpMaps {
            _ = (section.parameters(of: map.payloadType), section.feedback(of: map.payloadType))
            _ = section.retransmission(of: map.payloadType)
        }
        _ = (section.sources, section.sourceGroups("FID"), section.headerExtensions, section.candidates, section.fingerprints)
        _ = (section.direction, section.setup, section.rtcpPort)
    }
}
