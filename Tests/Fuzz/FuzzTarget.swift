import Bitstream
import Foundation

/// The parsers that read what others send. `tools/fuzz` builds and runs them.
///
/// Any input is right as long as nothing crashes, hangs, or reads memory that is not the input's. What else must hold is
/// checked by the tests; here only what costs nothing to check.
enum FuzzTarget: String, CaseIterable {
    case url
    case streamID = "streamid"
    case rtp
    case stun
    case dtls
    case srtp
    case frames
    case offer
    case sdp
    case call
    case arrivals
    case payloads
    case transportStream = "transport-stream"
    case h264
    case hevc
    case mpeg2
    case av1
    case vp8
    case vp9
    case photograph
    case sound
    case cube
    case png
    case overlay
    case weights
    case trace
    case telemetryMap = "telemetry-map"
    case workerProtocol = "worker-protocol"
    case configuration
    case apiInput = "api-input"
    case unitTexts = "unit-texts"
    case roomLink = "room-link"

    func run(_ input: UnsafeRawBufferPointer) {
        switch self {
        case .url: fuzzURL(input)
        case .streamID: fuzzStreamID(input)
        case .rtp: fuzzRTP(input)
        case .stun: fuzzSTUN(input)
        case .dtls: fuzzDTLS(input)
        case .srtp: fuzzSRTP(input)
        case .frames: fuzzFrames(input)
        case .offer: fuzzOffer(input)
        case .sdp: fuzzSessionDescription(input)
        case .call: fuzzCall(input)
        case .arrivals: fuzzArrivals(input)
        case .payloads: fuzzPayloads(input)
        case .transportStream: fuzzTransportStream(input)
        case .h264: fuzzVideo(input, .h264)
        case .hevc: fuzzVideo(input, .hevc)
        case .mpeg2: fuzzVideo(input, .mpeg2Video)
        case .av1: fuzzAV1(input)
        case .vp8: fuzzUnits(input, .vp8)
        case .vp9: fuzzUnits(input, .vp9)
        case .photograph: fuzzPhotograph(input)
        case .sound: fuzzSound(input)
        case .cube: fuzzCube(input)
        case .png: fuzzPNG(input)
        case .overlay: fuzzOverlay(input)
        case .weights: fuzzWeights(input)
        case .trace: fuzzTrace(input)
        case .telemetryMap: fuzzTelemetryMap(input)
        case .configuration: fuzzConfiguration(input)
        case .apiInput: fuzzAPIInput(input)
        case .unitTexts: fuzzUnitTexts(input)
        case .roomLink: fuzzRoomLink(input)
        case .workerProtocol: fuzzWorkerProtocol(input)
        }
    }

    static let chosen: FuzzTarget = {
        let name = ProcessInfo.processInfo.environment["BURNISH_FUZZ_TARGET"] ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            fatalError("BURNISH_FUZZ_TARGET must be one of \(allCases.map(\.rawValue))")
        }
        return target
    }()
}

/// What libFuzzer calls with every input.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    FuzzTarget.chosen.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver") private func runDriver(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ oneInput: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// SwiftPM has the program begin here, not in libFuzzer's own `main`.
@_cdecl("burnish_fuzz_main") public func fuzzMain(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, fuzzOneInput)
}

/// Reads every byte, so that the address sanitizer sees those that are not there.
func touch(_ bytes: UnsafeRawBufferPointer) {
    var sum: UInt8 = 0
    for byte in bytes { sum ^= byte }
    withExtendedLifetime(sum) {}
}

/// A copy with nothing readable behind its end, for a part of an input.
func withCopy(of bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyMemory(from: bytes)
    body(UnsafeRawBufferPointer(copy))
}
