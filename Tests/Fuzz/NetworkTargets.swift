import Endpoint
import Media

@testable import Transport

func fuzzURL(_ input: UnsafeRawBufferPointer) {
    guard let url = try? StreamURL(String(decoding: input, as: UTF8.self)) else { return }
    precondition(!url.description.utf8.contains(0), "a NUL byte got through")
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
                _ = RTCPDatagram(reading: bytes)
            } else if let header = RTPHeader(reading: bytes) {
                _ = clock.map(timestamp: header.timestamp, arrival: now)
                let payload = UnsafeRawBufferPointer(rebasing: bytes[RTPHeader.byteCount...])
                if let range = header.payload(in: payload) { touch(UnsafeRawBufferPointer(rebasing: payload[range])) }
            }
        }
    }
}
