import Container
import Media

/// libFuzzer's entry: the input's first byte is the size of the pieces that the rest is pushed in. Anything but a crash
/// or an endless loop is right; what must hold besides is checked by the tests.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    var demuxer = TransportStreamDemuxer(unitLimit: 1 << 16)
    var sum = 0
    let handler: TransportStreamDemuxer.Handler = { event in
        // Every byte that is handed on must be readable.
        if case .unit(let unit) = event { sum = unsafe unit.bytes.reduce(sum) { $0 &+ Int($1) } }
    }
    let piece = Int(start[0]) * 8 + 1
    var at = 1
    while at < count {
        let end = min(at + piece, count)
        let bytes = UnsafeRawBufferPointer(start: start + at, count: end - at)
        let now = MonotonicTime(nanoseconds: Int64(at) * 10_000)
        if start[0] & 1 == 1, let timer = demuxer.nextTimer, timer < now { demuxer.timeout(timer, handler: handler) }
        if start[0] & 15 == 2, at & 64 != 0 { demuxer.recordLoss() }
        demuxer.push(bytes, arrival: now, sourceTime: nil, handler: handler)
        at = end
    }
    _ = demuxer.diagnosis
    demuxer.finish(handler: handler)
    return sum == Int.min ? 1 : 0
}
