import Media

@testable import Codec

/// A picture with structure that moves with `index`: a gradient, a bright square and some texture.
func makePicture(_ size: PictureSize, index: Int) -> Picture {
    let picture = Picture(size: size)
    let view = picture.mutableView
    for y in 0..<size.height {
        for x in 0..<size.width {
            let texture = ((x + 2 * index) ^ y) & 31
            view.y.row(y)[x] = UInt8((x * 160 / size.width + texture + 16) & 255)
        }
    }
    let (left, top) = ((index * 3) % max(1, size.width - 8), size.height / 4)
    for y in top..<min(top + 8, size.height) {
        for x in left..<min(left + 8, size.width) { view.y.row(y)[x] = 235 }
    }
    for y in 0..<size.chroma.height {
        for x in 0..<size.chroma.width {
            view.u.row(y)[x] = UInt8(128 + x % 32)
            view.v.row(y)[x] = UInt8(128 - y % 32)
        }
    }
    return picture
}

/// One access unit, kept.
struct KeptUnit: Sendable {
    var bytes: [UInt8]
    var id: Int64
    var presentationTime: MediaTime
    var decodeTime: MediaTime
    var isKeyframe: Bool

    init(_ unit: borrowing EncodedUnit) {
        bytes = Array(unit.bytes)
        id = unit.id
        presentationTime = unit.presentationTime
        decodeTime = unit.decodeTime
        isKeyframe = unit.isKeyframe
    }
}

/// Encodes `count` generated pictures at 30 a second, with a keyframe every `keyframeEvery`.
func encodeUnits(
    _ configuration: VideoEncoderConfiguration, count: Int, keyframeEvery: Int = 1000
) throws -> [KeptUnit] {
    let encoder = try VideoEncoder(configuration)
    var units: [KeptUnit] = []
    for i in 0..<count {
        let picture = makePicture(configuration.size, index: i)
        try encoder.encode(
            picture.view, id: Int64(i) * 7 + 1, at: MediaTime(ticks: 90_000 + Int64(i) * 3000),
            asKeyframe: i % keyframeEvery == 0
        ) { units.append(KeptUnit($0)) }
    }
    try encoder.finish { units.append(KeptUnit($0)) }
    return units
}

/// What came out of a decoder, kept without the samples.
struct KeptOutput: Equatable {
    var id: Int64
    var fault: CodecFault?
    var damage: PictureDamage = []
    var isKeyframe = false
    var size = PictureSize(width: 0, height: 0)
    var color = ColorDescription()
    /// How many units had gone in when it came out.
    var after = 0
    var meanLuma = 0
    /// Of the luma samples.
    var hash: UInt64 = 0
    var convertedFrom: SampleFormat?
}

extension VideoDecoder {
    /// All outputs there are.
    func allOutputs(after: Int = 0) throws -> [KeptOutput] {
        var outputs: [KeptOutput] = []
        while let output = try next() {
            switch consume output {
            case .picture(let picture):
                let view = picture.view
                var sum = 0
                for y in 0..<view.y.height { for x in 0..<view.y.width { sum += Int(view.y.row(y)[x]) } }
                let hash = lumaHash(view)
                outputs.append(
                    KeptOutput(
                        id: picture.id, damage: picture.damage, isKeyframe: picture.isKeyframe, size: picture.size,
                        color: picture.color, after: after, meanLuma: sum / (view.y.height * view.y.width),
                        hash: hash, convertedFrom: picture.convertedFrom))
            case .noPicture(let id, let fault): outputs.append(KeptOutput(id: id, fault: fault, after: after))
            }
        }
        return outputs
    }

    func decodeAll(_ units: [[UInt8]], flags: (Int) -> UnitFlags = { _ in [] }) throws -> [KeptOutput] {
        var outputs: [KeptOutput] = []
        for (i, unit) in units.enumerated() {
            try unit.withUnsafeBytes { _ = try decode($0, id: Int64(i), flags: flags(i)) }
            outputs += try allOutputs(after: i + 1)
        }
        drain()
        return outputs + (try allOutputs(after: units.count))
    }
}

/// FNV-1a over the luma samples.
func lumaHash(_ view: PictureView) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for y in 0..<view.y.height {
        for x in 0..<view.y.width { hash = (hash ^ UInt64(view.y.row(y)[x])) &* 0x100_0000_01b3 }
    }
    return hash
}
