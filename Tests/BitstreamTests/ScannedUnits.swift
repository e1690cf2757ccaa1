@testable import Bitstream

/// A byte stream, cut into access units while it grows by pieces.
struct ScannedUnits {
    private(set) var units: [[UInt8]] = []
    private(set) var entryPoints: [Bool] = []
    /// After the last unit.
    private(set) var parameters: VideoParameters?
    private(set) var kept: [UInt8] = []

    init(_ stream: [UInt8], _ codec: VideoCodec, piece: Int) {
        var scanner = AccessUnitScanner(codec)
        var (start, end) = (0, 0)
        while end < stream.count {
            end = min(end + piece, stream.count)
            var isDone = false
            while !isDone {
                let finding = stream[start..<end].withUnsafeBytes {
                    unsafe scanner.scan($0, isEnd: end == stream.count)
                }
                switch finding {
                case .nothing: isDone = true
                case .continuation: break
                case .unitStart(let at):
                    scanner.discard(before: at)
                    start += at
                case .unitEnd(let at):
                    units.append(Array(stream[start..<start + at]))
                    entryPoints.append(scanner.picture.isEntryPoint)
                    scanner.cut(at: at)
                    start += at
                }
            }
        }
        units.append(Array(stream[start...]))
        entryPoints.append(scanner.picture.isEntryPoint)
        parameters = scanner.parameters
        kept = scanner.keptSets.bytes
    }
}
